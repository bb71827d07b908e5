package openai

// Opening does not wait.
const noWait = 0
