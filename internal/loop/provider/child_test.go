package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/loop/provider"
)

// role names what a process of this test binary does in the place of a program
// that asks a model.
const role = "RUNLENS_TEST_ROLE"

func TestMain(m *testing.M) {
	name := os.Getenv(role)
	if name == "" {
		os.Exit(m.Run())
	}
	play(name)
	os.Exit(0)
}

const (
	ready = `{"ready":true,"protocol":1}` + "\n"
	hi    = `{"seq":1,"message":{"role":"assistant","content":"hi"},"text":"hi"}` + "\n"
)

// play is the fake program.
func play(name string) {
	heard := func() { // one question
		var q json.RawMessage
		_ = json.NewDecoder(os.Stdin).Decode(&q)
	}
	for { // forever is what ends with stdin
		part, rest, more := strings.Cut(name, ";")
		switch {
		case part == "hear":
			heard()
		case part == "hang":
			time.Sleep(time.Minute)
		case part == "sleep":
			time.Sleep(5 * time.Second)
		case part == "forever":
			_, _ = io.Copy(io.Discard, os.Stdin)
		case part == "mute":
			_ = os.Stdout.Close()
		case part == "deaf":
			_ = os.Stdin.Close()
		case part == "kill":
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			time.Sleep(time.Minute)
		case part == "heir": // a process that holds our stdout and stderr
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.Stdout, cmd.Stderr = []string{role + "=sleep"}, os.Stdout, os.Stderr
			_ = cmd.Start()
		case part == "serve":
			if err := provider.Serve(context.Background(), os.Stdin, os.Stdout, echo{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		case part == "refuse":
			_ = provider.Refuse(os.Stdout, errors.Join(errors.New("no key"), errors.New("no\x1bmodel")), "look")
			os.Exit(2)
		case part == "env":
			fmt.Fprintln(os.Stderr, slices.DeleteFunc(os.Environ(), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return name == role || name == "GOCOVERDIR" || name == "SYSTEMROOT"
			}))
		case part == "long":
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range 97 {
				_, _ = os.Stdout.Write(chunk)
			}
		case part == "chat":
			fmt.Fprint(os.Stderr, strings.Repeat("x\n", 100_000))
		case strings.HasPrefix(part, "err:"):
			fmt.Fprint(os.Stderr, part[4:])
		case strings.HasPrefix(part, "out:"):
			fmt.Print(part[4:])
		}
		if !more {
			return
		}
		name = rest
	}
}

// echo answers with what it was asked, in a form that a careless hand changes.
type echo struct{}

func (echo) Next(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (provider.Reply, error) {
	switch last := string(messages[len(messages)-1]); {
	case strings.Contains(last, "fail"):
		return provider.Reply{}, errors.New("ask model: no \x1b[2J luck")
	case strings.Contains(last, "wait"):
		<-ctx.Done()
		return provider.Reply{}, ctx.Err()
	}
	call := []byte(`{"id":"a","type":"function","function":{"name":"x","arguments":"{ \"n\": 1e400 }"},"note":"<&>` + "\u2028" + `"}`)
	content, _ := json.Marshal(fmt.Sprintf("%s|%s", messages, tools))
	return provider.Reply{
		Message: json.RawMessage(`{"role":"assistant","content":` + string(content) + `,"x":"<&>` + "\u2028" + `\u0041","n":1.0e400,"tool_calls":[` + string(call) + `]}`),
		Calls:   [][]byte{append(call, ' ')}, CallIDs: []string{"a"}, Text: "<t>\x00", Finish: "tool_calls", Tokens: 7,
	}, nil
}

// played is a program that plays, and the notes that come of it.
func played(t *testing.T, name string) (p provider.Program, notes *[]string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	notes = &[]string{}
	return provider.Program{
		Path: self, Env: []string{role + "=" + name, "GOCOVERDIR=" + t.TempDir()},
		Note:     func(line string) { *notes = append(*notes, line) },
		Starting: time.Minute, Asking: time.Minute, Ending: time.Minute,
	}, notes
}

func start(t *testing.T, p provider.Program) *provider.Child {
	t.Helper()
	c, err := provider.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var asked = []json.RawMessage{json.RawMessage(`{"role":"user","content":"a < b\u2028` + "\u2028" + `, 1e400"}`)}

// What is asked and answered crosses to the other process and back to the byte,
// again and again, and is more than a pipe holds.
func TestChild(t *testing.T) {
	p, notes := played(t, "serve")
	c := start(t, p)
	tools := json.RawMessage(`[{"name":"<x>","n":1.0}]`)
	for _, messages := range [][]json.RawMessage{
		asked,
		append(asked[:1:1], json.RawMessage(`{"role":"tool"}`)),
		append(asked[:1:1], json.RawMessage(`"`+strings.Repeat("<é", 1<<20)+`"`)),
	} {
		got, err := c.Next(t.Context(), messages, tools)
		want, _ := echo{}.Next(t.Context(), messages, tools)
		if err != nil || string(got.Message) != string(want.Message) || !slices.EqualFunc(got.Calls, want.Calls, bytes.Equal) ||
			!slices.Equal(got.CallIDs, want.CallIDs) || got.Text != want.Text || got.Finish != want.Finish || got.Tokens != want.Tokens {
			t.Fatalf("error %v, reply %+v\nwant %+v", err, got, want)
		}
	}
	// An error of the model's is not one of the program's.
	if _, err := c.Next(t.Context(), []json.RawMessage{json.RawMessage(`"fail"`)}, nil); err == nil || err.Error() != `"ask model: no \x1b[2J luck"` {
		t.Errorf("error %v", err)
	}
	if _, err := c.Next(t.Context(), []json.RawMessage{json.RawMessage("{")}, nil); err == nil {
		t.Error("a message that is no JSON was asked")
	}
	if _, err := c.Next(t.Context(), asked, nil); err != nil {
		t.Error(err)
	}
	c.Close()
	c.Close()
	if _, err := c.Next(t.Context(), asked, nil); err == nil || !strings.Contains(err.Error(), "it is closed") || len(*notes) != 0 {
		t.Errorf("error %v, notes %q", err, *notes)
	}
}

// TestBroken holds every way to break the protocol to an error that names it. The
// program is gone after it, and nothing more is asked.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name, plays string
		started     bool
		want        string
	}{
		{"ends", "end", false, "it ended before it answered"},
		{"dies", "kill", false, "it ended before it answered: "},
		{"says nothing", "hang", false, "no answer within 300ms"},
		{"garbage", "out:Hello!\n;forever", false, "what it says is not the protocol of runlens"},
		{"half a line", "out:{", false, "a line that does not end"},
		{"not ready", `out:{"ready":false,"protocol":1}` + "\n;forever", false, "it is of another version than runlens"},
		{"another version", `out:{"ready":true,"protocol":2}` + "\n;forever", false, "it is of another version than runlens"},
		{"a member of another version", `out:{"ready":true,"protocol":1,"x":1}` + "\n;forever", false, "not the protocol"},
		{"ends when asked", "out:" + ready + ";hear", true, "it ended before it answered"},
		{"dies when asked", "out:" + ready + ";hear;kill", true, "it ended before it answered: "},
		{"hangs when asked", "out:" + ready + ";hear;hang", true, "no answer within 300ms"},
		{"never listens", "out:" + ready + ";hang", true, "no answer within 300ms"},
		{"is deaf", "deaf;out:" + ready + ";hang", true, "it ended before it answered: "},
		{"is mute", "out:" + ready + ";hear;mute;hang", true, "it ended before it answered: "},
		{"is mute, and has an heir", "out:" + ready + ";hear;heir", true, "no answer within 300ms"},
		{"no JSON", "out:" + ready + ";hear;out:hello\n;forever", true, "what it says is not an answer"},
		{"two values", "out:" + ready + ";hear;out:" + strings.TrimSpace(hi) + "{}\n;forever", true, "what it says is not an answer"},
		{"an unknown member", "out:" + ready + `;hear;out:{"seq":1,"msg":{}}` + "\n;forever", true, "what it says is not an answer"},
		{"nothing", "out:" + ready + `;hear;out:{"seq":1}` + "\n;forever", true, "an answer without a message"},
		{"a message that is none", "out:" + ready + `;hear;out:{"seq":1,"message":"x"}` + "\n;forever", true, "an answer without a message"},
		{"a call without an id", "out:" + ready + `;hear;out:{"seq":1,"message":{},"calls":["e30="]}` + "\n;forever", true, "calls are not those of its message"},
		{"a call spelt otherwise than in the message", "out:" + ready + `;hear;out:{"seq":1,"message":{"role":"assistant","tool_calls":[{"id":"a"}]},"calls":["e30="],"call_ids":["a"]}` + "\n;forever", true, "calls are not those of its message"},
		{"one id twice", "out:" + ready + `;hear;out:{"seq":1,"message":{"role":"assistant","tool_calls":[{"id":"a"},{"id":"a"}]},"calls":["eyJpZCI6ImEifQ==","eyJpZCI6ImEifQ=="],"call_ids":["a","a"]}` + "\n;forever", true, "calls are not those of its message"},
		{"a call without an id", "out:" + ready + `;hear;out:{"seq":1,"message":{"role":"assistant","tool_calls":[{"id":""}]},"calls":["eyJpZCI6IiJ9"],"call_ids":[""]}` + "\n;forever", true, "calls are not those of its message"},
		{"a message of another role", "out:" + ready + `;hear;out:{"seq":1,"message":{"role":"system"}}` + "\n;forever", true, "message is no model's"},
		{"a call that is not in the message", "out:" + ready + `;hear;out:{"seq":1,"message":{"role":"assistant"},"calls":["e30="],"call_ids":["a"]}` + "\n;forever", true, "calls are not those of its message"},
		{"calls that are no base64", "out:" + ready + `;hear;out:{"seq":1,"message":{},"calls":["{}"],"call_ids":["a"]}` + "\n;forever", true, "what it says is not an answer"},
		{"an answer to another question", "out:" + ready + ";hear;out:" + strings.Replace(hi, "1", "2", 1) + ";forever", true, "an answer that nobody asked for"},
		{"an answer before the question", "out:" + ready + strings.Replace(hi, "1", "0", 1) + ";forever", true, "an answer that nobody asked for"},
		{"too long", "out:" + ready + ";hear;long;forever", true, "a line that is too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := played(t, c.plays)
			if strings.Contains(c.want, "300ms") {
				p.Asking = 300 * time.Millisecond
				if !c.started {
					p.Starting = p.Asking
				}
			}
			if strings.Contains(c.plays, "hang") || strings.Contains(c.plays, "heir") || strings.Contains(c.plays, "kill") {
				p.Ending = 50 * time.Millisecond
			}
			child, err := provider.Start(t.Context(), p)
			if (err == nil) != c.started {
				t.Fatalf("start: %v", err)
			}
			if c.started {
				defer child.Close()
				_, err = child.Next(t.Context(), asked, nil)
				if _, again := child.Next(t.Context(), asked, nil); err == nil || again != err {
					t.Errorf("asked again: %v, before: %v", again, err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A second answer to a question is not taken for one to the next.
func TestTwoAnswers(t *testing.T) {
	p, _ := played(t, "out:"+ready+";hear;out:"+hi+hi+";forever")
	c := start(t, p)
	if reply, err := c.Next(t.Context(), asked, nil); err != nil || reply.Text != "hi" {
		t.Fatalf("%+v, %v", reply, err)
	}
	if _, err := c.Next(t.Context(), asked, nil); err == nil || !strings.Contains(err.Error(), "an answer that nobody asked for") {
		t.Errorf("error %v", err)
	}
}

// The end of the run ends the question, and the program.
func TestInterrupted(t *testing.T) {
	why := errors.New("enough")
	for _, plays := range []string{"serve", "out:" + ready + ";err:heard\n;hang"} {
		ctx, end := context.WithCancelCause(t.Context())
		p, _ := played(t, plays)
		p.Ending = 100 * time.Millisecond
		p.Note = func(string) { end(why) }
		c := start(t, p)
		if plays == "serve" {
			time.AfterFunc(100*time.Millisecond, func() { end(why) })
		}
		if _, err := c.Next(ctx, []json.RawMessage{json.RawMessage(`"wait"`)}, nil); !errors.Is(err, why) {
			t.Errorf("%s: error %v", plays, err)
		}
		end(nil)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(why)
	p, _ := played(t, "hang")
	p.Ending = 50 * time.Millisecond
	if _, err := provider.Start(ctx, p); !errors.Is(err, why) {
		t.Errorf("start: %v", err)
	}
}

func TestRefusal(t *testing.T) {
	p, _ := played(t, "refuse")
	_, err := provider.Start(t.Context(), p)
	r, ok := errors.AsType[*provider.Refusal](err)
	if !ok || r.Message != "no key\n"+`"no\x1bmodel"` || r.Hint != "look" {
		t.Errorf("error %v", err)
	}
	p.Path += "-gone"
	if _, err := provider.Start(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), "start ") {
		t.Errorf("error %v", err)
	}
}

// What stderr says comes line by line, all of it, made safe; what is asked waits
// for no reader of it. The environment is what was given.
func TestStderr(t *testing.T) {
	t.Setenv("SECRET_OF_RUNLENS", "x")
	p, notes := played(t, "env;out:"+ready+";err:one\n\ntw\x1bo\ntw\ufe0fo\u3164\n"+strings.Repeat("y", 5000)+"\nend;hear;out:"+hi+";err:\nlast;forever")
	c := start(t, p)
	if _, err := c.Next(t.Context(), asked, nil); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if want := []string{"[]", "one", `"tw\x1bo"`, `"tw\ufe0fo\u3164"`, strings.Repeat("y", 4096), "end", "last"}; !slices.Equal(*notes, want) {
		t.Errorf("notes %.100q, want %.100q", *notes, want)
	}
	p, notes = played(t, "out:"+ready+";chat;hear;out:"+hi)
	c = start(t, p)
	if _, err := c.Next(t.Context(), asked, nil); err != nil {
		t.Error(err)
	}
	c.Close()
	if len(*notes) != 100_000 {
		t.Errorf("%d notes", len(*notes))
	}
}
