package main

// Opening does not wait, and links are looked for before.
const noWait, noLink = 0, 0
