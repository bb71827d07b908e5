package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/loop"
	"github.com/runlens/runlens/internal/loop/openai"
)

// providerFlags are the flags of a run in which a model makes the calls.
func providerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "provider", Usage: "`NAME` of what makes the calls: openai (any OpenAI-compatible chat endpoint). Without it they come on stdin"},
		&cli.StringFlag{Name: "base-url", Usage: "`URL` of the endpoint, up to and with /v1; http only for this machine (default: https://api.openai.com/v1)"},
		&cli.StringFlag{Name: "model", Usage: "`NAME` of the model"},
		&cli.StringFlag{Name: "key-file", Usage: "`FILE` that holds the API key, readable by its owner alone (default: the key is taken from the environment)"},
		&cli.StringFlag{Name: "key-env", Value: "OPENAI_API_KEY", Usage: "environment `VARIABLE` that holds the API key"},
		&cli.IntFlag{Name: "max-turns", Value: 50, Usage: "end after `N` answers of the model; 0 for no limit", DefaultText: "50"},
		&cli.DurationFlag{Name: "max-time", Value: 30 * time.Minute, Usage: "end after this `TIME`; 0 for no limit", DefaultText: "30m"},
		&cli.Int64Flag{Name: "max-tokens", Usage: "end after `N` tokens, requests and answers counted; 0 for no limit", DefaultText: "no limit"},
		&cli.IntFlag{Name: "max-repeats", Value: 3, Usage: "end when one failing call comes `N` times in a row; 0 for no limit", DefaultText: "3"},
	}
}

// defaultBaseURL is where the model is asked when the user names no place.
const defaultBaseURL = "https://api.openai.com/v1"

// maxAPIKey bounds a key: a file that is larger is another file.
const maxAPIKey = 8 << 10

// provider is the model that the flags name, and the limits on it; nil when
// calls come on stdin.
func (w *world) provider(c *cli.Context) (loop.Model, loop.ChatLimits, error) {
	var none loop.ChatLimits
	switch name := c.String("provider"); {
	case !c.IsSet("provider"):
		for _, f := range providerFlags() {
			if flag := f.Names()[0]; c.IsSet(flag) {
				return nil, none, hinted("add --provider openai", "read arguments: --%s is for a run with --provider", flag)
			}
		}
		return nil, none, nil
	case name != "openai":
		return nil, none, hinted("known: openai", "read arguments: unknown provider %s", quoted(name))
	}
	limits := loop.ChatLimits{
		Turns: c.Int("max-turns"), Time: c.Duration("max-time"),
		Tokens: c.Int64("max-tokens"), Repeats: c.Int("max-repeats"),
	}
	var wrong []error
	if limits.Turns < 0 || limits.Time < 0 || limits.Tokens < 0 || limits.Repeats < 0 {
		wrong = append(wrong, hinted("0 sets no limit", "read arguments: a limit below zero"))
	}
	if c.String("model") == "" {
		wrong = append(wrong, hinted("name the model with --model", "read arguments: --provider without --model"))
	}
	base := c.String("base-url")
	if base == "" {
		base = defaultBaseURL
	}
	local, err := openai.CheckURL(base)
	if err != nil {
		wrong = append(wrong, hinted("such as "+defaultBaseURL, "read arguments: --base-url: %w", err))
	}
	key, err := w.apiKey(c, local)
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return nil, none, together(wrong...)
	}
	model, err := openai.New(openai.Config{
		BaseURL: base, Model: c.String("model"), Key: key,
		Note: func(text string) { w.note("%s", text) },
	})
	if err != nil {
		return nil, none, hinted("", "%w", err)
	}
	return model, limits, nil
}

// apiKey reads the key from the file or the environment, and from nowhere else:
// a command line is seen by every process of the machine. A server on this machine
// may need none.
func (w *world) apiKey(c *cli.Context, local bool) (string, error) {
	if name := c.String("key-file"); name != "" {
		if c.IsSet("key-env") {
			return "", hinted("give one of the two", "read arguments: --key-file and --key-env")
		}
		return readAPIKey(name)
	}
	variable := c.String("key-env")
	if !isVariable(variable) {
		// It may be the key itself, and is not repeated.
		return "", hinted("such as --key-env OPENAI_API_KEY", "read arguments: --key-env: not the name of an environment variable")
	}
	key := strings.TrimSpace(w.getenv(variable))
	if key == "" && (!local || c.IsSet("key-env")) {
		return "", hinted("set the variable, or name a file with --key-file", "read API key: the environment variable %s is not set", quoted(variable))
	}
	if err := openai.CheckKey(key); err != nil {
		return "", hinted("", "read API key: environment variable %s: %w", quoted(variable), err)
	}
	return key, nil
}

// isVariable tells whether a shell can set a variable of this name.
func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// readAPIKey reads a key from a file that only its owner may read, as ssh asks
// of its keys.
func readAPIKey(name string) (string, error) {
	f, err := openRegular(name)
	if err != nil {
		return "", hinted(similar(name), "read API key %s: %w", name, cause(err))
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", hinted("", "read API key %s: %w", name, cause(err))
	}
	if loose := st.Mode().Perm() & 0o077; loose != 0 && runtime.GOOS != "windows" {
		return "", hinted(fmt.Sprintf("chmod 600 %s", name), "read API key %s: others may read it (%s)", name, octal(st.Mode()))
	}
	text, err := readLimited(f, maxAPIKey)
	if err != nil {
		return "", hinted("", "read API key %s: %w", name, cause(err))
	}
	key := string(bytes.TrimSpace(text))
	if key == "" {
		err = errors.New("the file is empty")
	} else {
		err = openai.CheckKey(key)
	}
	if err != nil {
		return "", hinted("the file holds the key and nothing else", "read API key %s: %w", name, err)
	}
	return key, nil
}

func octal(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }
