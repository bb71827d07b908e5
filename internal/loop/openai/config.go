package openai

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// CheckURL tells whether a base URL may be used, and whether it names this
// machine. Only there a key, and what is asked, may travel in the clear.
func CheckURL(base string) (local bool, err error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return false, errors.New("not a URL")
	case u.User != nil:
		return false, errors.New("a URL with a user or a password in it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return false, errors.New("a URL with a query or a fragment")
	}
	local = isLocal(u.Hostname())
	switch strings.ToLower(u.Scheme) {
	case "https":
		return local, nil
	case "http":
		if !local {
			return false, errors.New("http is for this machine alone: use https")
		}
		return true, nil
	}
	return false, errors.New("a URL that is neither https nor http")
}

// isLocal tells whether a host is this machine by its name or address.
func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CheckKey refuses what no header can carry. It never says what the key holds.
func CheckKey(key string) error {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return errors.New("holds a character that a key can't have")
		}
	}
	return nil
}
