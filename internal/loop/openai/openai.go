// Package openai is a model behind an OpenAI-compatible chat endpoint.
//
// It promises that a tool call comes out as the server spelt it, byte for byte in
// its name and arguments; that the key goes to the configured host and nowhere
// else, not into an error, an answer or another host's hands; and that it gives up:
// every answer is bounded in size and time, and so is the number of attempts. It
// never decides about a call and keeps nothing.
//
// It is the sole home of the vendor's client. Read Config first, then Client.Next,
// then answer in answer.go, which makes a reply of what a server sent.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	vendor "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/runlens/runlens/internal/loop/provider"
)

// Config says which model, where, and how patiently.
type Config struct {
	BaseURL string // such as https://api.openai.com/v1; http only for this machine
	Model   string
	Key     string // "" sends none

	Timeout time.Duration // of one attempt; 0: DefaultTimeout
	Retries int           // attempts after the first; 0: DefaultRetries, negative: none

	Now  func() time.Time                                 // nil: time.Now
	Wait func(ctx context.Context, d time.Duration) error // before another attempt; nil: a timer
	Note func(text string)                                // is told of attempts that failed; nil: nobody
}

// What a Config leaves open.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultRetries = 3
)

// Client is a provider.Model. It is safe for concurrent use.
type Client struct {
	cfg     Config
	service vendor.ChatCompletionService
	secret  secret
}

// New checks the configuration; nothing is sent.
func New(cfg Config) (*Client, error) {
	_, err := CheckURL(cfg.BaseURL)
	err = errors.Join(err, CheckKey(cfg.Key))
	if cfg.Model == "" {
		err = errors.Join(err, errors.New("no model is named"))
	}
	if err != nil {
		return nil, fmt.Errorf("set up model: %w", err)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Retries == 0 {
		cfg.Retries = DefaultRetries
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Wait == nil {
		cfg.Wait = wait
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	// The service reads nothing from the environment, as the vendor's whole
	// client would: its base URL, headers and keys.
	options := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(httpClient(cfg.BaseURL)), option.WithMaxRetries(0),
	}
	if cfg.Key != "" {
		options = append(options, option.WithAPIKey(cfg.Key))
	}
	return &Client{cfg: cfg, service: vendor.NewChatCompletionService(options...), secret: secret(cfg.Key)}, nil
}

// Next implements provider.Model. The tools go out byte for byte, so do the messages;
// an attempt that failed for a while is made again.
func (c *Client) Next(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (provider.Reply, error) {
	body, err := request(c.cfg.Model, messages, tools)
	if err != nil {
		return provider.Reply{}, fmt.Errorf("ask model: %w", err)
	}
	body, err = c.persist(ctx, body)
	if err != nil {
		return provider.Reply{}, fmt.Errorf("ask model: %w", err)
	}
	reply, err := answer(body, messages)
	if err == nil && c.secret.in(reply.Message) {
		err = errors.New("the answer holds the API key: it is not kept")
	}
	if err != nil {
		// What a server sent may be in the error: the key may be in it.
		return provider.Reply{}, fmt.Errorf("ask model: read answer: %s", c.secret.plain(err.Error()))
	}
	return reply, nil
}

// request is the body of a chat request.
func request(model string, messages []json.RawMessage, tools json.RawMessage) ([]byte, error) {
	name, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.WriteString(`{"model":`)
	buf.Write(name)
	buf.WriteString(`,"messages":[`)
	for i, m := range messages {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(m)
	}
	buf.WriteByte(']')
	if some := bytes.TrimSpace(tools); len(some) > 0 && !bytes.Equal(some, []byte("[]")) {
		buf.WriteString(`,"tools":`)
		buf.Write(some)
	}
	buf.WriteByte('}')
	if !json.Valid(buf.Bytes()) {
		return nil, errors.New("write request: a message or the tools are not JSON")
	}
	return buf.Bytes(), nil
}

// attempt asks once.
func (c *Client) attempt(ctx context.Context, body []byte) ([]byte, *failure) {
	timed, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var seen exchange
	var sent []byte
	_, err := c.service.New(timed, vendor.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&sent),
		option.WithMiddleware(seen.watch))
	switch {
	case ctx.Err() != nil:
		return nil, &failure{err: context.Cause(ctx)}
	case seen.status != 0 && (seen.status < 200 || seen.status > 299):
		return nil, c.refused(&seen)
	case errors.Is(err, errTooLarge):
		return nil, &failure{err: err}
	case timed.Err() != nil:
		return nil, &failure{err: fmt.Errorf("no answer within %s", c.cfg.Timeout), again: true}
	case err != nil:
		return nil, c.broken(err)
	}
	return sent, seen.fits(c.secret)
}

// exchange is what an attempt saw of the server.
type exchange struct {
	status int
	header http.Header
	head   bytes.Buffer // of the body
}

// watch looks at an answer before the vendor's client does.
func (e *exchange) watch(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if res != nil {
		e.status, e.header = res.StatusCode, res.Header
		res.Body = &bounded{from: res.Body, left: maxAnswer, head: &e.head}
	}
	return res, err
}
