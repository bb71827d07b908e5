package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How long is waited before another attempt.
const (
	firstPause = time.Second      // doubled with each attempt
	maxPause   = 30 * time.Second // at most
	maxAfter   = time.Minute      // that a server may ask for; beyond it we give up
)

// failure is an attempt without an answer.
type failure struct {
	err   error
	again bool          // may pass when it is tried again
	after time.Duration // that the server wants us to wait; 0: it said nothing
}

// persist asks until there is an answer, or no hope of one.
func (c *Client) persist(ctx context.Context, body []byte) ([]byte, error) {
	attempts := 1 + max(c.cfg.Retries, 0)
	for i := 1; ; i++ {
		answer, failed := c.attempt(ctx, body)
		switch {
		case failed == nil:
			return answer, nil
		case ctx.Err() != nil || !failed.again:
			return nil, failed.err
		case i == attempts:
			return nil, fmt.Errorf("%w (attempt %d of %d)", failed.err, i, attempts)
		case failed.after > maxAfter:
			return nil, fmt.Errorf("%w; it asks to wait %s", failed.err, failed.after.Round(time.Second))
		}
		d := pause(i, failed.after)
		c.cfg.Note(fmt.Sprintf("ask model: %v; attempt %d of %d in %s", failed.err, i+1, attempts, d.Round(100*time.Millisecond)))
		if err := c.cfg.Wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// pause is how long to wait after attempt i: longer each time, never the same for
// two clients that failed at once, and not shorter than the server asks.
func pause(i int, after time.Duration) time.Duration {
	d := min(firstPause<<min(i-1, 10), maxPause)
	d -= rand.N(d / 4)
	return max(d, after)
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// refused is an answer that is not a success.
func (c *Client) refused(seen *exchange) *failure {
	if seen.status < 400 {
		return &failure{err: fmt.Errorf("the server sends us elsewhere (%s, %s): nothing was sent there; name the right place with --base-url",
			statusText(seen.status), c.secret.quoted(seen.header.Get("Location")))}
	}
	f := &failure{err: fmt.Errorf("the server answered %s", statusText(seen.status))}
	if said := c.said(seen); said != "" {
		f.err = fmt.Errorf("%w: %s", f.err, said)
	}
	f.again = seen.status == http.StatusRequestTimeout || seen.status == http.StatusTooManyRequests || seen.status >= 500
	f.after = retryAfter(seen.header.Get("Retry-After"), c.cfg.Now())
	return f
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// said is what the body of an error says: its message when it has one.
func (c *Client) said(seen *exchange) string {
	text := strings.TrimSpace(seen.head.String())
	var doc any
	if json.Unmarshal([]byte(text), &doc) == nil {
		text = messageIn(doc)
		if text == "" {
			// Spelt anew, so that no escape hides the key.
			again, _ := json.Marshal(doc)
			text = string(again)
		}
	}
	if text == "" {
		return ""
	}
	return c.secret.quoted(text)
}

// messageIn finds the text in the forms that servers use: {"error":{"message":…}},
// {"error":…}, {"message":…}, {"detail":…}.
func messageIn(doc any) string {
	for _, key := range []string{"error", "message", "detail"} {
		object, _ := doc.(map[string]any)
		switch v := object[key].(type) {
		case string:
			return v
		case map[string]any:
			if text := messageIn(v); text != "" {
				return text
			}
		}
	}
	return ""
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case s > (24 * time.Hour).Seconds():
			return 24 * time.Hour
		case s > 0:
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// broken is an attempt that the network ended.
func (c *Client) broken(err error) *failure {
	again := true
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || errors.Is(err, errElsewhere) {
		again = false
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	// A text of the network's may hold what the server sent.
	return &failure{err: errors.New(c.secret.plain(err.Error())), again: again}
}
