// Package openai is a model behind an OpenAI-compatible chat endpoint.
//
// It promises that a tool call comes out as the server spelt it, byte for byte;
// that the key goes to the configured host and nowhere else, not into an error, an
// answer or another host's hands; and that it gives up: every answer is bounded in
// size and time, and so is the number of attempts. It never decides about a call
// and keeps nothing.
//
// It is the sole home of the vendor's client. Read Config first, then Client.Next,
// then answer in answer.go, which makes a reply of what a server sent.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/runlens/runlens/internal/loop"
)

// Config says which model, where, and how patiently.
type Config struct {
	BaseURL string // such as https://api.openai.com/v1; http only for this machine
	Model   string
	Key     string // "" sends none

	Timeout time.Duration // of one attempt; 0: DefaultTimeout
	Retries int           // attempts after the first; 0: DefaultRetries, negative: none

	Wait func(ctx context.Context, d time.Duration) error // before another attempt; nil: a timer
	Note func(text string)                                // is told of attempts that failed; nil: nobody
}

// What a Config leaves open.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultRetries = 3
)

// Client is a loop.Model.
type Client struct{ cfg Config }

// New checks the configuration; nothing is sent.
func New(cfg Config) (*Client, error) { return &Client{cfg: cfg}, nil }

// Next implements loop.Model.
func (c *Client) Next(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (loop.Reply, error) {
	return loop.Reply{}, errors.New("ask model: not there yet")
}
