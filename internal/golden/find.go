package golden

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// extension is what the name of a case ends with.
const extension = ".txtar"

// maxCase bounds a case's file.
const maxCase = 4 << 20

// Find lists the cases below dir, <family>/<case>.txtar, in order of name. Tests
// in Go and README.md may lie in dir beside the families, and names that begin
// with a dot are passed over. Whatever else is there is a mistake that would
// go unnoticed: the error is then a [*Problems], and the cases are listed all the
// same. Links are no cases.
func Find(dir string) (files []string, err error) {
	top, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, cause(err))
	}
	found := &Problems{}
	for _, e := range top {
		name := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			files = append(files, family(name, found)...)
		case e.Type()&fs.ModeSymlink != 0:
			found.add(name, 0, "put the folder itself there", "a link is no folder of cases")
		case e.Type().IsRegular() && (e.Name() == "README.md" || strings.HasSuffix(e.Name(), ".go")):
		case strings.HasSuffix(e.Name(), extension):
			found.add(name, 0, "move it into the folder of its family", "a case lies in a folder")
		default:
			found.add(name, 0, "a case is FAMILY/CASE"+extension, "a stray file among the cases")
		}
	}
	return files, found.err()
}

// family lists the cases of one folder.
func family(dir string, found *Problems) (files []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		found.add(dir, 0, "", "%v", cause(err))
		return nil
	}
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		base := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type()&fs.ModeSymlink != 0:
			found.add(name, 0, "put the file itself there", "a link is no case")
		case e.IsDir():
			found.add(name, 0, "a case is FAMILY/CASE"+extension, "a stray folder in a family of cases")
		case e.Type().IsRegular() && e.Name() != extension && strings.HasSuffix(e.Name(), extension):
			files = append(files, name)
		case base != "" && edits(filepath.Ext(e.Name()), extension) <= 2:
			found.add(name, 0, fmt.Sprintf("did you mean %q?", base+extension), "a stray file in a family of cases")
		default:
			found.add(name, 0, "a case is FAMILY/CASE"+extension, "a stray file in a family of cases")
		}
	}
	return files
}

// Read is Parse of a file. A file that can't be read is a [*Problems], too.
func Read(name string) (*Case, error) {
	found := &Problems{}
	f, err := os.Open(name)
	if err != nil {
		found.add(name, 0, "", "%v", cause(err))
		return nil, found
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCase+1))
	if err != nil {
		found.add(name, 0, "", "%v", cause(err))
		return nil, found
	}
	return Parse(name, data)
}

// cause is an error without the path that the message names already.
func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
