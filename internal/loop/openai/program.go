package openai

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/runlens/runlens/internal/loop/provider"
)

// about is what a person is told who starts the program by hand.
const about = `runlens-openai asks the model behind an OpenAI-compatible endpoint on behalf of runlens, and
alone holds the API key. It is not for people: runlens run --provider openai starts it.
`

// Main is the program runlens-openai: it answers the questions of a runlens that
// started it, as package provider says. It returns the exit code.
func Main(args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, about)
		return 2
	}
	note := func(text string) { fmt.Fprintln(stderr, text) }
	// Before the key is read: what runlens starts can't look for it here.
	if err := private(); err != nil {
		note(err.Error())
	}
	// A terminal tells every process of its group to end. Whether and when this one
	// does is for runlens to say, which closes stdin.
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT)
	client, wrong := configured(args, getenv, note)
	if len(wrong) > 0 {
		hint, err := wrong.together()
		if err := provider.Refuse(stdout, err, hint); err != nil {
			note(err.Error())
		}
		return 2
	}
	if err := provider.Serve(context.Background(), stdin, stdout, client); err != nil {
		note(err.Error())
		return 1
	}
	return 0
}

// problem is what is wrong with a setting, and what to do about it.
type problem struct {
	err  error
	hint string // may be empty
}

type problems []problem

func (list *problems) add(hint, format string, args ...any) {
	*list = append(*list, problem{fmt.Errorf(format, args...), hint})
}

// together are all errors and all hints, one a line.
func (list problems) together() (hint string, err error) {
	var errs []error
	var hints []string
	for _, p := range list {
		errs = append(errs, p.err)
		if p.hint != "" {
			hints = append(hints, p.hint)
		}
	}
	return strings.Join(hints, "\n"), errors.Join(errs...)
}

// configured is the client that the flags of the program describe. They are named
// as those of `runlens run`, so that what is wrong can be shown there as it is.
func configured(args []string, getenv func(string) string, note func(string)) (*Client, problems) {
	var wrong problems
	flags := flag.NewFlagSet("runlens-openai", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	base := flags.String("base-url", "", "")
	model := flags.String("model", "", "")
	file := flags.String("key-file", "", "")
	variable := flags.String("key-env", "", "")
	optional := flags.Bool("key-optional", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		// The text could hold what was given for something else.
		wrong.add("`runlens run --provider openai` starts it", "read arguments of runlens-openai: not what runlens gives")
		return nil, wrong
	}
	if *model == "" {
		wrong.add("name the model with --model", "read arguments: --provider without --model")
	}
	local, err := CheckURL(*base)
	if err != nil {
		wrong.add("such as https://api.openai.com/v1", "read arguments: --base-url: %w", err)
	}
	var key string
	switch {
	case *file != "":
		key = keyOfFile(*file, &wrong)
	default:
		key = keyOfVariable(*variable, getenv, local && *optional, &wrong)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	client, err := New(Config{BaseURL: *base, Model: *model, Key: key, Note: note})
	if err != nil {
		wrong.add("", "%w", err)
	}
	return client, wrong
}
