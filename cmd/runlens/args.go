package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrange puts the words of a command line into the order that the cli package
// reads: global flags, command, its flags, then everything else behind "--".
// So a flag works wherever it stands; left to itself the package would take a
// flag after a file name for one more file. What is misspelt is named here,
// with what was probably meant.
func arrange(app *cli.App, words []string) ([]string, error) {
	a := arrangement{global: flagsOf(app.Flags), seen: map[string]bool{}, commands: app.Commands}
	for len(words) > 0 {
		rest, err := a.take(words)
		if err != nil {
			return nil, err
		}
		words = rest
	}
	if a.help {
		return slices.Concat([]string{app.Name}, a.path, []string{"--help"}), nil
	}
	if a.command == nil {
		return nil, hinted("`runlens --help` lists them", "run runlens: no command given")
	}
	if len(a.commands) > 0 {
		return nil, hinted(fmt.Sprintf("one of: %s", strings.Join(names(a.commands), ", ")),
			"run runlens %s: which one", strings.Join(a.path, " "))
	}
	return slices.Concat([]string{app.Name}, a.globals, a.path, a.flags, []string{"--"}, a.files), nil
}

// arrangement is a command line as far as it has been read.
type arrangement struct {
	global, local map[string]cli.Flag // by name, aliases too
	seen          map[string]bool     // first names of the flags read
	commands      []*cli.Command      // what the next word may name
	command       *cli.Command        // the last one named

	globals, path, flags, files []string
	help                        bool
}

// take reads one word, or a flag and its value, and returns what is left.
func (a *arrangement) take(words []string) ([]string, error) {
	word := words[0]
	switch {
	case word == "--":
		if len(a.commands) > 0 {
			return nil, hinted("put it behind the command", "read arguments: \"--\" before a command")
		}
		a.files = append(a.files, words[1:]...)
		return nil, nil
	case word == "--help" || word == "-h" || word == "-help":
		a.help = true
		return words[1:], nil
	case len(word) > 1 && word[0] == '-':
		return a.flag(words)
	case len(a.commands) > 0:
		if word == "help" && a.command == nil {
			a.help = true
			return words[1:], nil
		}
		return words[1:], a.name(word)
	}
	a.files = append(a.files, word)
	return words[1:], nil
}

// name takes word as the name of a command.
func (a *arrangement) name(word string) error {
	for _, c := range a.commands {
		if c.HasName(word) {
			a.command, a.commands, a.local = c, c.Subcommands, flagsOf(c.Flags)
			a.path = append(a.path, c.Name)
			return nil
		}
	}
	known := names(a.commands)
	hint := didYouMean(word, known)
	if hint == "" && a.command == nil && looksLikeFile(word) {
		hint = fmt.Sprintf("did you mean `runlens check %s`?", word)
	}
	if hint == "" {
		hint = "one of: " + strings.Join(known, ", ")
	}
	return hinted(hint, "run runlens: unknown command %s", quoted(strings.Join(append(slices.Clone(a.path), word), " ")))
}

// flag reads a flag, with the value that belongs to it.
func (a *arrangement) flag(words []string) ([]string, error) {
	name, value, joined := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
	flag, local := a.local[name]
	if !local {
		flag = a.global[name]
	}
	shown := "--" + name
	if flag == nil {
		known := names(nil)
		for _, set := range []map[string]cli.Flag{a.local, a.global} {
			for n := range set {
				known = append(known, "--"+n)
			}
		}
		slices.Sort(known)
		hint := didYouMean(shown, known)
		if hint == "" {
			hint = fmt.Sprintf("`runlens %s--help` lists them", strings.Join(append(slices.Clone(a.path), ""), " "))
		}
		return nil, hinted(hint, "read arguments: unknown flag %s", quoted(shown))
	}
	first := flag.Names()[0]
	if _, many := flag.(*cli.StringSliceFlag); a.seen[first] && !many {
		return nil, hinted("keep one", "read arguments: flag --%s is given twice", first)
	}
	a.seen[first] = true
	rest := words[1:]
	_, isBool := flag.(*cli.BoolFlag)
	switch {
	case isBool && joined && value != "true" && value != "false":
		return nil, hinted("leave the value out", "read arguments: flag %s takes no value", shown)
	case isBool && !joined:
		value = "true"
	case !joined && (len(rest) == 0 || a.isFlag(rest[0])):
		return nil, hinted(flagWords(flag), "read arguments: flag %s needs a value", shown)
	case !joined:
		value, rest = rest[0], rest[1:]
	}
	if value == "" {
		return nil, hinted(flagWords(flag), "read arguments: flag %s has an empty value", shown)
	}
	if local {
		a.flags = append(a.flags, shown+"="+value)
	} else {
		a.globals = append(a.globals, shown+"="+value)
	}
	return rest, nil
}

// isFlag tells a flag from a value: "-" is stdin.
func (a *arrangement) isFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return a.local[name] != nil || a.global[name] != nil || name == "help" || name == "h" || name == ""
}

// flagWords is what help says of a flag, on one line.
func flagWords(flag cli.Flag) string {
	words, about, _ := strings.Cut(flag.String(), "\t")
	return strings.TrimSpace(words) + ": " + strings.TrimSpace(about)
}

func flagsOf(flags []cli.Flag) map[string]cli.Flag {
	set := map[string]cli.Flag{}
	for _, f := range flags {
		for _, n := range f.Names() {
			set[n] = f
		}
	}
	return set
}

func names(commands []*cli.Command) []string {
	list := []string{}
	for _, c := range commands {
		list = append(list, c.Name)
	}
	return list
}

func looksLikeFile(word string) bool {
	return isCallFile(word) || strings.Contains(word, "/")
}

// oneOf reads a flag's value that must be one of a few words.
func oneOf(c *cli.Context, flag string, allowed ...string) (string, error) {
	value := c.String(flag)
	if slices.Contains(allowed, value) {
		return value, nil
	}
	hint := didYouMean(value, allowed)
	if hint == "" {
		hint = "one of: " + strings.Join(allowed, ", ")
	}
	return "", hinted(hint, "read arguments: --%s: unknown value %s", flag, quoted(value))
}

// countFiles checks how many arguments a command has got; most < 0 is any number.
func countFiles(c *cli.Context, least, most int) error {
	n := c.NArg()
	usage := "usage: " + c.Command.HelpName + " " + c.Command.ArgsUsage
	switch {
	case n < least:
		return hinted(usage, "read arguments: %s is missing", strings.Fields(c.Command.ArgsUsage + " argument")[n])
	case most >= 0 && n > most:
		return hinted(usage, "read arguments: %s is one too many", quoted(c.Args().Get(most)))
	}
	return nil
}
