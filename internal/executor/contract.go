package executor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/plan"
	"github.com/runlens/runlens/internal/resolve"
)

// contract is what a run is held to: the payload of run_started. A run without
// a goal has its first four members alone, and no contract.json.
type contract struct {
	Goal             string `json:"goal"`
	PolicyRevision   string `json:"policy_revision"`
	ManifestRevision string `json:"manifest_revision"`
	Door             string `json:"door"`

	Skill      *contractSkill   `json:"skill,omitempty"`
	Plan       *plan.Plan       `json:"plan,omitempty"`
	Artifacts  []plan.Artifact  `json:"artifacts,omitempty"`
	Inputs     []contractInput  `json:"inputs,omitempty"`
	WriteRoots []contractRoot   `json:"write_roots,omitempty"`
	Checks     [][]string       `json:"checks,omitempty"` // the commands that may be run; what a call fills in stands in braces
	ReadOnly   bool             `json:"read_only,omitempty"`
	Limits     *facts.RunLimits `json:"limits,omitempty"`

	Fingerprint string `json:"fingerprint,omitempty"` // of all the others, and the run's id
}

type contractSkill struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Digest string   `json:"digest"`
	Tools  []string `json:"tools"` // sorted
}

// contractInput is a file that the run was given, as it was when the run began.
type contractInput struct {
	Name   string `json:"name"`
	Path   string `json:"path"` // from the project directory
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// contractRoot is a directory that tools of the run may write below.
type contractRoot struct {
	Declared string `json:"declared"`
	Path     string `json:"path"` // canonical
}

const contractName = "contract.json"

// seal gives c its fingerprint.
func (c *contract) seal(runID string) error {
	c.Fingerprint = ""
	text, err := plainJSON(c, "")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte("runlens contract v1\n"+runID+"\n"), text...))
	c.Fingerprint = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// file is contract.json: the same for the same contract, to the byte.
func (c *contract) file(runID string) ([]byte, error) {
	return plainJSON(struct {
		V     int    `json:"schema_version"`
		RunID string `json:"run_id"`
		*contract
	}{1, runID, c}, "  ")
}

func plainJSON(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode contract: %w", err)
	}
	return buf.Bytes(), nil
}

// writeContract makes contract.json durable, before the event that it repeats.
// A crash in between leaves a file without a run, which the next start replaces.
func (r *run) writeContract(c *contract) error {
	text, err := c.file(r.id)
	if err != nil {
		return err
	}
	name := filepath.Join(r.dir, contractName)
	if err := replaceFile(name, text); err != nil {
		return fmt.Errorf("write %s: %w", contractName, err)
	}
	return nil
}

// replaceFile puts data under name, whole or not at all, readable by its owner
// alone. It is durable when it returns.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// expectation is what this process was told about a run that it went on with.
// What is not the run's own is drift.
type expectation struct {
	goal, skill string
	inputs      map[string]string
	readOnly    bool
}

func (e expectation) empty() bool {
	return e.goal == "" && e.skill == "" && len(e.inputs) == 0 && !e.readOnly
}

// contractFacts say whether a call is judged under what run_started fixed.
func (r *run) contractFacts() facts.Contract {
	c := &r.state.Contract
	f := facts.Contract{Present: c.Goal != ""}
	if !f.Present {
		return f
	}
	drift := func(what string, is bool) {
		if is {
			f.Drift = append(f.Drift, what)
		}
	}
	drift("contract_file", !r.contractFileHolds(c))
	drift("goal", r.expect.goal != "" && r.expect.goal != c.Goal)
	drift("inputs", r.expect.inputs != nil && !sameInputs(c.Inputs, r.expect.inputs))
	drift("manifest_revision", c.ManifestRevision != r.x.cfg.Tools.Revision)
	drift("policy_revision", c.PolicyRevision != r.x.cfg.Engine.Revision())
	drift("read_only", r.expect.readOnly && !c.ReadOnly)
	drift("skill", r.expect.skill != "" && (c.Skill == nil || r.expect.skill != c.Skill.Name))
	drift("write_roots", !r.writeRootsHold(c))
	f.Matches = len(f.Drift) == 0
	return f
}

func sameInputs(have []contractInput, want map[string]string) bool {
	for _, in := range have {
		if path, named := want[in.Name]; named && path != in.Path {
			return false
		}
	}
	for name := range want {
		if !slices.ContainsFunc(have, func(in contractInput) bool { return in.Name == name }) {
			return false
		}
	}
	return true
}

// contractFileHolds says whether contract.json is, to the byte, what run_started
// says. It is read anew for each call: whoever edits it must not be trusted for
// the rest of a process.
func (r *run) contractFileHolds(c *contract) bool {
	want, err := c.file(r.id)
	if err != nil {
		return false
	}
	f, err := openPlain(filepath.Join(r.dir, contractName))
	if err != nil {
		return false
	}
	defer f.Close()
	have, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	return err == nil && bytes.Equal(have, want)
}

// writeRootsHold says whether the directories that the run may write below are
// still the ones that they were.
func (r *run) writeRootsHold(c *contract) bool {
	for _, root := range c.WriteRoots {
		now := r.x.resolver.Roots([]resolve.RootSpec{{Declared: root.Declared, Access: []string{facts.Write}}})
		if len(now) != 1 || now[0].Path != root.Path {
			return false
		}
	}
	return true
}
