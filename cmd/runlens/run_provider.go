package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/loop"
	"github.com/runlens/runlens/internal/loop/provider"
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

// openaiProgram asks models. It is not part of this program: the process that
// decides about calls never reads the key, and the client of a vendor costs
// nothing where no model is asked.
const openaiProgram = "runlens-openai"

// provider starts the program that asks the model which the flags name, and tells
// the limits on it; nil when calls come on stdin. Whoever gets it closes it.
func (w *world) provider(c *cli.Context) (*provider.Child, loop.ChatLimits, error) {
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
	model, err := w.startOpenAI(c)
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		if model != nil {
			model.Close()
		}
		return nil, none, together(wrong...)
	}
	return model, limits, nil
}

// startOpenAI starts the program with what it needs and nothing else. What is
// wrong with the endpoint or the key it says itself, before a run begins.
func (w *world) startOpenAI(c *cli.Context) (*provider.Child, error) {
	base := c.String("base-url")
	if base == "" {
		base = defaultBaseURL
	}
	p := provider.Program{
		Args: []string{"--base-url=" + base, "--model=" + c.String("model")},
		Env:  w.networkEnv(),
		Note: func(line string) { w.note("%s", line) },
	}
	file, variable := c.String("key-file"), c.String("key-env")
	switch {
	case file != "" && c.IsSet("key-env"):
		return nil, hinted("give one of the two", "read arguments: --key-file and --key-env")
	case file != "":
		p.Args = append(p.Args, "--key-file="+file)
	case !isVariable(variable):
		// It may be the key itself, and is not repeated.
		return nil, hinted("such as --key-env OPENAI_API_KEY", "read arguments: --key-env: not the name of an environment variable")
	default:
		// A server on this machine may need none.
		p.Args = append(p.Args, "--key-env="+variable, fmt.Sprintf("--key-optional=%t", !c.IsSet("key-env")))
		p.Env = w.handOn(p.Env, variable)
	}
	var err error
	if p.Path, err = beside(openaiProgram); err != nil {
		return nil, err
	}
	model, err := provider.Start(c.Context, p)
	if refusal, ok := errors.AsType[*provider.Refusal](err); ok {
		hints := []string{refusal.Hint}
		if file != "" {
			hints = append(hints, similar(file))
		}
		hints = slices.DeleteFunc(hints, func(h string) bool { return h == "" })
		return nil, hinted(strings.Join(hints, "\n"), "%w", err)
	}
	if err != nil {
		return nil, hinted(installHint, "%w", err)
	}
	return model, nil
}

const installHint = "`go install ./cmd/...` puts " + openaiProgram + " beside runlens, and so does `go build -o bin/ ./cmd/...`"

// networkEnv is what a program needs of the environment to reach a server: the
// way there, and whom to trust.
func (w *world) networkEnv() []string {
	return w.handOn(
		nil, "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	)
}

// handOn adds the variables that are set.
func (w *world) handOn(env []string, names ...string) []string {
	for _, name := range names {
		if value := w.getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// beside finds a program that was installed together with this one: where the
// executable is, else where the link to it is. It is looked for nowhere else, so
// that neither the environment nor a project can put another in its place.
func beside(name string) (string, error) {
	places, err := besideNames(name)
	if err != nil {
		return "", hinted("", "find %s: %w", name, err)
	}
	for _, path := range places {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, nil
		}
	}
	for i := range places {
		places[i] = filepath.Dir(places[i])
	}
	return "", hinted(installHint, "find %s: it is not beside runlens, in %s", name, strings.Join(slices.Compact(places), " or "))
}

// besideNames are the paths at which such a program is looked for.
func besideNames(name string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	places := []string{filepath.Join(filepath.Dir(self), name)}
	if real, err := filepath.EvalSymlinks(self); err == nil && real != self {
		places = []string{filepath.Join(filepath.Dir(real), name), places[0]}
	}
	return places, nil
}

// sandboxProgram begins sandboxes in the place of this program: it is smaller, and
// starts sooner.
const sandboxProgram = "runlens-sandbox"

// sandboxStage is where it is; "" when it is not beside this program, which then
// begins them itself.
func sandboxStage() string {
	path, err := beside(sandboxProgram)
	if err != nil {
		return ""
	}
	return path
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
