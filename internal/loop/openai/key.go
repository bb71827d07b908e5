package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// maxKey bounds a key: a file that is larger is another file.
const maxKey = 8 << 10

// keyOfVariable is the key from the environment; there may be none when it is
// optional.
func keyOfVariable(name string, getenv func(string) string, optional bool, wrong *problems) string {
	key := strings.TrimSpace(getenv(name))
	if key == "" && !optional {
		wrong.add("set the variable, or name a file with --key-file", "read API key: the environment variable %s is not set", strconv.Quote(cut(name)))
		return ""
	}
	if err := CheckKey(key); err != nil {
		wrong.add("", "read API key: environment variable %s: %w", strconv.Quote(cut(name)), err)
	}
	return key
}

// keyOfFile is the key from a file that only its owner may read, as ssh asks of
// its keys.
func keyOfFile(name string, wrong *problems) string {
	f, err := openKey(name)
	if err != nil {
		wrong.add("", "read API key %s: %w", name, bare(err))
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		wrong.add("", "read API key %s: %w", name, bare(err))
		return ""
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		wrong.add(fmt.Sprintf("chmod 600 %s", name), "read API key %s: others may read it (%04o)", name, mode)
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err == nil && len(text) > maxKey {
		err = fmt.Errorf("larger than %d bytes", maxKey)
	}
	if err != nil {
		wrong.add("", "read API key %s: %w", name, bare(err))
		return ""
	}
	key := string(bytes.TrimSpace(text))
	if key == "" {
		err = errors.New("the file is empty")
	} else {
		err = CheckKey(key)
	}
	if err != nil {
		wrong.add("the file holds the key and nothing else", "read API key %s: %w", name, err)
	}
	return key
}

// openKey opens a regular file, behind links too, and waits for nobody. It looks
// before it opens, since opening can already do something to a device, and again
// at what it opened.
func openKey(name string) (*os.File, error) {
	st, err := os.Stat(name)
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func regular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errors.New("is a directory")
	case !st.Mode().IsRegular():
		return errors.New("not a regular file")
	}
	return nil
}

// bare drops path and verb from a file error: the message names them.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
