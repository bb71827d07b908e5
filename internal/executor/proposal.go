package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// proposal is one call on its way through the pipeline. Each stage fills its
// part; once one before policy has failed, the later ones pass.
type proposal struct {
	x     *Executor
	run   *run
	raw   []byte
	after int64 // last event its caller can have known of

	call    *call.Call
	tool    *manifest.Tool    // nil: not declared
	handler *handlers.Handler // nil: declared for judging only

	data    []byte // what the tool would write, rendered
	pointer string // the argument it was rendered from

	input   facts.Input
	targets []target
	exe     *resolve.Object
	dir     *resolve.Object

	confinement *handlers.Confinement // nil: the program runs in no sandbox

	failed  bool          // a stage before policy refused the call
	granted bool          // the handles are the handler's to give back
	ended   chan struct{} // closed when the call is over; nil before its handler runs
	judged  judgedBy
	out     *Outcome

	proposed, started, seq int64 // events

	told     *telling  // nil: nobody is told
	again    int64     // seq of the first proposal of the same line; 0: this one
	known    knownAs   // bytes that were not admitted
	standing *Standing // in the run's plan, once recorded; nil without one

	done handlers.Result
	err  error
	took time.Duration
}

// target is one opened object and the manifest's word on it.
type target struct {
	manifest.Target
	object *resolve.Object
}

func (x *Executor) newProposal(ctx context.Context, r *run, raw []byte) *proposal {
	p := &proposal{x: x, run: r, raw: raw, out: &Outcome{
		RunID:            r.id,
		Normalized:       map[string]string{},
		PolicyRevision:   x.cfg.Engine.Revision(),
		ManifestRevision: x.cfg.Tools.Revision,
	}}
	p.after, p.judged = r.arrive(ctx)
	return p
}

// close gives back every handle, unless a handler has been given them: then
// they are given back when it no longer uses them.
func (p *proposal) close() {
	if p.ended != nil {
		close(p.ended)
	}
	if !p.granted {
		p.release()
	}
}

func (p *proposal) release() {
	for _, t := range p.targets {
		if t.object != nil {
			t.object.Close()
		}
	}
	for _, o := range []*resolve.Object{p.exe, p.dir} {
		if o != nil {
			o.Close()
		}
	}
	if p.confinement != nil {
		for _, r := range p.confinement.Roots {
			r.Object.Close()
		}
	}
}

// stopped reports that a stage before policy ended the call.
func (p *proposal) stopped() bool { return p.failed }

// fail ends the call before policy: a denial with the stage's own code.
func (p *proposal) fail(code, message string) {
	p.failed = true
	p.out.ErrorCode = code
	p.out.Input, p.out.line, p.out.digest = nil, nil, ""
	p.out.Verdict = engine.Verdict{Effect: engine.Deny, Reasons: []engine.Reason{engine.GoReason(code, message, "", nil)}}
}

// recoverPanic turns a fault of RunLens itself into a failed result; the run
// shows a start without an end if the handler had begun.
func (p *proposal) recoverPanic(result **ToolResult) {
	if fault := recover(); fault != nil {
		p.x.cfg.Log("panic: %v\n%s", fault, debug.Stack())
		p.fail(codeInternal, "RunLens itself failed; the call is refused")
		if p.started > 0 {
			// The handler may have worked. Nothing records its end any more, so
			// the claim goes, and the next opening of the run says tool_unknown.
			p.run.log.Started(p.started)()
			p.seq = p.started
		}
		*result = p.refusal()
	}
}

func (p *proposal) recoverOutcome(out **Outcome) {
	if fault := recover(); fault != nil {
		p.x.cfg.Log("panic: %v\n%s", fault, debug.Stack())
		p.fail(codeInternal, "RunLens itself failed; the call is refused")
		*out = p.out
	}
}

// issues joins what a schema found into one message, and says which stage it
// belongs to.
func issues(found []manifest.Issue) (code, message string) {
	if len(found) == 0 {
		return "", ""
	}
	code = codeInvalid
	lines := make([]string, 0, len(found))
	for _, i := range found {
		if i.Malformed {
			code = codeMalformed
		}
		lines = append(lines, i.Pointer+": "+i.Message)
	}
	return code, strings.Join(lines, "; ")
}

// render makes the bytes that the tool would write. A payload of a tool whose
// handler renders nothing is measured as it came.
func (p *proposal) render() (err error) {
	if p.handler == nil || p.handler.Render == nil {
		return nil
	}
	p.data, p.pointer, err = p.handler.Render(p.call.Arguments)
	return err
}

// describeCall fills input.call: the arguments without what must not be
// recorded, and facts about the content to be written.
func (p *proposal) describeCall() {
	payload := []string(nil)
	command := false
	if p.tool != nil {
		payload, command = p.tool.Payload, p.tool.Operation == facts.Execute
	}
	args, withheld := p.x.withhold.arguments(p.call.Arguments, payload, command)
	p.input.Call = facts.Call{
		ID: p.call.ID, Tool: p.call.Name, Digest: p.call.Digest(),
		Arguments: args, Payloads: []facts.Payload{}, Withheld: withheld,
	}
	for _, name := range payload {
		v, present := p.call.Arguments[name]
		if !present {
			continue
		}
		data := p.data
		if p.pointer != "/"+escapePointer(name) {
			data = measured(v)
		}
		p.input.Call.Payloads = append(p.input.Call.Payloads, facts.Payload{
			Pointer: "/" + escapePointer(name), Bytes: int64(len(data)),
			Digest: digest(data), Kinds: p.x.withhold.scanBytes(data),
		})
	}
}

// measured is the text of a payload that no handler renders.
func measured(v any) []byte {
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// describeTool fills input.tool, with the roots as they are on disk now.
func (p *proposal) describeTool() {
	p.input.Sandbox = p.sandboxFacts()
	if p.tool == nil {
		p.input.Tool = &facts.Tool{Name: p.call.Name}
		return
	}
	p.input.Tool = p.run.toolFacts(p.tool)
}

// openTargets opens one object for each target that the manifest declares.
func (p *proposal) openTargets() {
	for _, t := range p.tool.Targets {
		raw, requested, present := p.tool.Expand(t, p.call.Arguments, p.run.id)
		req := resolve.Request{
			Param: t.Param, Access: t.Access, Raw: raw, Requested: requested, Recursive: t.Recursive,
			Absolute: p.tool.Absolute, CreateParents: p.tool.CreateParents, Below: p.x.below,
		}
		names := t.Params()
		switch {
		case !present || slices.ContainsFunc(names, p.withheld):
			// Nothing to open: an empty name is a fact that policy refuses.
			req.Raw, req.Requested = "", ""
		case len(names) == 0:
			req.Raw = requested // the manifest's own path, not the model's
		}
		for _, name := range names {
			if v, ok := p.call.Arguments[name].(string); ok && name != t.Param && req.Requested != "" {
				req.Values = append(req.Values, v)
			}
		}
		object := p.run.open(req)
		p.targets = append(p.targets, target{Target: t, object: object})
		p.input.Targets = append(p.input.Targets, object.Facts)
	}
}

func (p *proposal) withheld(param string) bool {
	return slices.ContainsFunc(p.input.Call.Withheld, func(w facts.Withheld) bool {
		return w.Pointer == "/"+escapePointer(param) || w.Pointer == "/*"
	})
}

// describeOutcome fills what a report says beside the verdict.
func (p *proposal) describeOutcome() {
	v := &p.out.Verdict
	p.out.ErrorCode = ""
	if v.Effect != engine.Allow {
		p.out.ErrorCode = errorCode(*v)
	}
	outside := map[string]bool{}
	for _, r := range v.Reasons {
		if r.Code == codeOutsideRoots {
			outside[r.Param] = true
		}
	}
	clear(p.out.Normalized)
	for _, t := range p.input.Targets {
		switch {
		case outside[t.Param] || t.Resolution != facts.OK && t.Resolution != facts.Absent:
			p.out.Normalized[t.Param] = t.Requested // Path would be that of a folder above
		case t.Path != "":
			if _, set := p.out.Normalized[t.Param]; !set || t.Access != facts.Read {
				p.out.Normalized[t.Param] = t.Path
			}
		}
	}
	p.out.MaxBytes = smallest(p.input.Tool.MaxBytes, v.MaxBytes)
}

// smallest is the smallest of the limits that are set; 0 when none is.
func smallest(limits ...int64) int64 {
	least := int64(0)
	for _, l := range limits {
		if l > 0 && (least == 0 || l < least) {
			least = l
		}
	}
	return least
}

// grant is all that the handler gets, made from the verdict: the opened
// objects, the rendered bytes, the judged argv and the limits.
func (p *proposal) grant() *handlers.Grant {
	v := p.out.Verdict
	g := &handlers.Grant{
		Tool: p.tool.Name, RunID: p.run.id,
		Objects: map[string]*resolve.Object{}, Declared: map[string]string{}, Args: map[string]any{},
		Data: p.data, Argv: p.input.Command.Run, Executable: p.exe, Dir: p.dir,
		Env:      childEnv(p.x.cfg.Tools.Path, p.confinement != nil, p.tool.Env...),
		MaxBytes: smallest(p.out.MaxBytes, p.x.settings.ReadBytes),
		Output:   p.limits().OutputBytes,
		Timeout:  time.Duration(smallest(p.tool.TimeoutMS, v.TimeoutMS)) * time.Millisecond,
		Sandbox:  p.tool.Sandbox, Confinement: p.confinement,
		Admit:   p.admitEntry,
		Late:    p.recordLate(),
		Release: p.release,
	}
	p.granted = true
	for _, t := range p.targets {
		if have := g.Objects[t.Param]; have == nil || t.Access != facts.Read {
			g.Objects[t.Param] = t.object
			g.Declared[t.Param] = relative(t.object.Facts)
		}
	}
	for name, v := range p.call.Arguments {
		if g.Objects[name] == nil && name != "argv" && !slices.Contains(p.tool.Payload, name) {
			g.Args[name] = v
		}
	}
	if p.tool.Program != "" {
		p.grantProgram(g)
	}
	return g
}

// relative is how a path is told to the model: from the project directory
// inside it, whole outside.
func relative(t facts.Target) string {
	if !t.InProject {
		return t.Path
	}
	if len(t.Segments) == 0 {
		return "."
	}
	return strings.Join(t.Segments, "/")
}

// admitEntry judges one entry below a listed target as if the call had asked
// for it too: handlers show only what could be asked for. What is shown is a
// name, so it is judged by where it is and what it is called.
func (p *proposal) admitEntry(entry *resolve.Object) bool {
	in := p.input
	t := entry.Facts
	t.Param, t.Access, t.Entry = p.targets[0].Param, facts.List, true
	in.Targets = append(slices.Clone(p.input.Targets), t)
	return p.x.cfg.Engine.Decide(context.Background(), &in).Effect == engine.Allow
}
