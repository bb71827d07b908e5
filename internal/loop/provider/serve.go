package provider

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// Refuse tells whoever started this program that it can't answer, and why. err may
// be several, one a line, and so may be the hint.
func Refuse(out io.Writer, err error, hint string) error {
	line, failed := encode(greeting{Error: err.Error(), Hint: hint})
	if failed == nil {
		_, failed = out.Write(line)
	}
	return failed
}

// Serve says that it is ready and answers questions, one after the other, until in
// ends. That ends the question that is being answered as well. The error says that
// in or out broke.
func Serve(ctx context.Context, in io.Reader, out io.Writer, model Model) error {
	line, err := encode(greeting{Ready: true, Protocol: protocol})
	if err != nil {
		return err
	}
	if _, err := out.Write(line); err != nil {
		return fmt.Errorf("write to runlens: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan []byte)
	go func() {
		buffered := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readLine(buffered, maxLine)
			if err != nil {
				cancel(err) // io.EOF: nobody listens any more
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); err != io.EOF {
				return fmt.Errorf("read from runlens: %w", err)
			}
			return nil
		case line := <-lines:
			if err := answerTo(ctx, line, out, model); err != nil {
				return err
			}
		}
	}
}

// answerTo answers one question.
func answerTo(ctx context.Context, line []byte, out io.Writer, model Model) error {
	var q question
	if err := decode(line, &q); err != nil {
		return fmt.Errorf("read from runlens: not a question: %w", err)
	}
	reply, err := model.Next(ctx, q.Messages, q.Tools)
	if ctx.Err() != nil {
		return nil // nobody waits for it
	}
	a := answer{
		Seq: q.Seq, Message: reply.Message, Calls: reply.Calls, CallIDs: reply.CallIDs,
		Text: reply.Text, Tokens: reply.Tokens, Finish: reply.Finish,
	}
	if err != nil {
		a = answer{Seq: q.Seq, Error: err.Error()}
	}
	text, err := encode(a)
	if err != nil {
		text, err = encode(answer{Seq: q.Seq, Error: fmt.Sprintf("ask model: hand on the answer: %v", err)})
	}
	if err == nil {
		_, err = out.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write to runlens: %w", err)
	}
	return nil
}
