package openai

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	maxAnswer = 16 << 20 // bytes of an answer
	maxHead   = 4 << 10  // bytes of an answer that an error looks at
)

var errTooLarge = errors.New("the answer is larger than 16 MiB")

// httpClient follows no redirect: a server that sends us on would be sent the
// conversation and, on its own host, the key.
func httpClient(base string) *http.Client {
	// A transport of our own, with the proxies that the environment names: what
	// goes through them is encrypted.
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           2,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	if u, err := url.Parse(base); err == nil && strings.EqualFold(u.Scheme, "http") {
		transport.Proxy = nil
		dialer.Control = loopbackOnly
	}
	transport.DialContext = dialer.DialContext
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// loopbackOnly holds a name such as localhost to what it promises: in the clear
// nothing leaves this machine.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errElsewhere
	}
	return nil
}

var errElsewhere = errors.New("the host is not this machine: use https")

// bounded is a body that ends with an error where it gets too large. It keeps the
// first bytes.
type bounded struct {
	from io.ReadCloser
	left int64
	head *bytes.Buffer
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// One byte more than allowed tells a body that just fits from one that does not.
		if n, err := b.from.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if room := maxHead - b.head.Len(); room > 0 {
		b.head.Write(p[:min(n, room)])
	}
	return n, err
}

func (b *bounded) Close() error { return b.from.Close() }
