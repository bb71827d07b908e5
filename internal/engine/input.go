package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/runlens/runlens/internal/facts"
)

// maxInputText bounds the text of one input, in bytes. Admission takes calls up
// to 16 MiB, but long strings are payload or withheld by then: what is left and
// still larger than this is nothing that a rule should walk.
const maxInputText = 4 << 20

var errInputTooLarge = errors.New("input is too large")

const maxWord = 16

// fields are the keys of one object, in the order in which object takes values.
type fields []*ast.Term

func newFields(names string) fields {
	var f fields
	for name := range strings.FieldsSeq(names) {
		f = append(f, ast.StringTerm(name))
	}
	return f
}

// object pairs the keys with vals; both must have the same length.
func (f fields) object(vals ...*ast.Term) ast.Object {
	var room [32][2]*ast.Term
	pairs := room[:len(f)]
	for i, v := range vals {
		pairs[i] = [2]*ast.Term{f[i], v}
	}
	return ast.NewObject(pairs...)
}

// encoder turns an input into the terms that rules see: the same document that
// facts.Encode writes, without going through JSON. Parts that stay the same
// from call to call are kept. It is safe for concurrent use.
type encoder struct {
	input, call, payload, withheld, root, tool, part fields
	target, lexical, below, command, executable      fields
	sandbox, run, denials, limits, skill, plan, step fields
	contract, approval                               fields

	words map[string]*ast.Term // strings that are the same in most inputs, maxWord bytes at most
	none  *ast.Term            // the empty list
	empty *ast.Term            // the empty object

	tools       memo[*facts.Tool]
	lexicals    memo[facts.Lexical]
	sandboxes   memo[facts.Sandbox]
	runLimits   memo[facts.RunLimits]
	executables memo[facts.Executable]
	noSkill     *ast.Term
	dataKey     *ast.Term // with data: what every input carries
	data        *ast.Term // policy data; nil: rules ask the store
	noStep      *ast.Term
}

func newEncoder() *encoder {
	e := &encoder{
		input:      newFields("v call tool targets command sandbox run skill plan contract approvals now"),
		call:       newFields("id tool digest arguments payloads withheld interrupted"),
		payload:    newFields("pointer bytes digest kinds"),
		withheld:   newFields("pointer bytes kinds"),
		root:       newFields("declared path prefix exists access param place mount_id device"),
		tool:       newFields("declared name operation handler roots max_bytes timeout_ms commands patterns absolute create_parents network sandbox"),
		target:     newFields("param position access recursive entry raw requested lexical resolution missing path segments in_project folded kind size allocated nlink device mount_id via_symlink link_target pseudo_fs protected resolver handle below walk place"),
		part:       newFields("kind word arg root access values pattern"),
		lexical:    newFields("absolute parent_segment parent_escape backslash drive tilde nul control invisible bad_utf8 percent_encoded url empty too_long trailing_dot_space reserved_name stream_name short_name expansion"),
		below:      newFields("path folded kind"),
		command:    newFields("present argv run pattern dir executable"),
		executable: newFields("path resolution kind in_project executable uid foreign group_writable other_writable protected planted"),
		sandbox:    newFields("level filesystem network secrets limits"),
		run:        newFields("id door read_only denials limits signed_approvals"),
		denials:    newFields("in_row total malformed"),
		limits:     newFields("in_row total malformed"),
		skill:      newFields("present name tools"),
		plan:       newFields("status step"),
		step:       newFields("id index tools failed retries"),
		contract:   newFields("present matches drift"),
		approval:   newFields("seq tool digest by expires remaining signed refused matches_call expired"),
		none:       ast.ArrayTerm(),
		empty:      ast.ObjectTerm(),
		words:      map[string]*ast.Term{},
	}
	for word := range strings.FieldsSeq(`read list search write delete rename execute fetch compute
		ok absent not_found no_access not_a_directory loop too_long busy changed invalid failed
		file directory fifo socket char_device block_device symlink none parent name full partial
		private inside holds secret planted word choice text handler
		openat2 root_walk complete cut cli hook mcp active run policy manifest config key ancestor
		proc sysfs path argv`) {
		e.words[word] = ast.StringTerm(word)
	}
	e.words[""] = ast.StringTerm("")
	e.noSkill = ast.NewTerm(e.skill.object(boolean(false), e.words[""], e.none))
	e.noStep = ast.NewTerm(e.step.object(e.words[""], integer(0), e.none, boolean(false), integer(0)))
	return e
}

// encode returns the input document. The terms must not be changed.
func (e *encoder) encode(in *facts.Input) (*ast.Term, error) {
	w := encoding{encoder: e}
	t := w.document(in)
	if w.text > maxInputText {
		return nil, errInputTooLarge
	}
	return t, w.err
}

// encoding is one run of an encoder.
type encoding struct {
	*encoder
	text int
	err  error
	room []ast.Term // terms not yet given out: one allocation for many
}

func (w *encoding) term(v ast.Value) *ast.Term {
	if len(w.room) == 0 {
		w.room = make([]ast.Term, 32)
	}
	t := &w.room[0]
	w.room = w.room[1:]
	t.Value = v
	return t
}

// apart is for terms that are kept: they must not hold on to this input.
func (w *encoding) apart() *encoding {
	return &encoding{encoder: w.encoder}
}

// object is f.object as a term.
func (w *encoding) object(f fields, vals ...*ast.Term) *ast.Term {
	return w.term(f.object(vals...))
}

func (w *encoding) array(terms []*ast.Term) *ast.Term {
	return w.term(ast.NewArray(terms...))
}

func (w *encoding) document(in *facts.Input) *ast.Term {
	own := w.object(w.input,
		integer(int64(in.V)),
		w.callTerm(&in.Call),
		w.toolTerm(in.Tool),
		list(w, in.Targets, (*encoding).targetTerm),
		w.object(w.command, boolean(in.Command.Present), w.strings(in.Command.Argv), w.strings(in.Command.Run), integer(in.Command.Pattern), w.str(in.Command.Dir), w.executableTerm(in.Command.Executable)),
		w.sandboxTerm(in.Sandbox),
		w.runTerm(&in.Run),
		w.skillTerm(&in.Skill),
		w.object(w.plan, w.str(in.Plan.Status), w.stepTerm(&in.Plan.Step)),
		w.object(w.contract, boolean(in.Contract.Present), boolean(in.Contract.Matches), w.strings(in.Contract.Drift)),
		list(w, in.Approvals, (*encoding).approvalTerm),
		w.str(in.Now),
	)
	if w.data != nil {
		own.Value.(ast.Object).Insert(w.dataKey, w.data)
	}
	return own
}

// carry makes every input carry policy data; see constants.
func (e *encoder) carry(documents ast.Object) {
	e.dataKey, e.data = ast.StringTerm(dataKey), documents.Get(ast.StringTerm(folder))
}

func (w *encoding) callTerm(c *facts.Call) *ast.Term {
	arguments := w.empty
	if len(c.Arguments) > 0 {
		arguments = w.value(c.Arguments)
	}
	return w.object(w.call, w.str(c.ID), w.str(c.Tool), w.str(c.Digest), arguments,
		list(w, c.Payloads, func(w *encoding, p *facts.Payload) *ast.Term {
			return w.object(w.payload, w.str(p.Pointer), integer(p.Bytes), w.str(p.Digest), w.strings(p.Kinds))
		}),
		list(w, c.Withheld, func(w *encoding, h *facts.Withheld) *ast.Term {
			return w.object(w.withheld, w.str(h.Pointer), integer(h.Bytes), w.strings(h.Kinds))
		}), boolean(c.Interrupted))
}

func (w *encoding) toolTerm(t *facts.Tool) *ast.Term {
	if t == nil {
		t = &facts.Tool{}
	} else if term := w.tools.get(t); term != nil {
		return term
	}
	w = w.apart()
	commands := make([]*ast.Term, len(t.Commands))
	for i, c := range t.Commands {
		commands[i] = w.strings(c)
	}
	patterns := make([]*ast.Term, len(t.Patterns))
	for i, p := range t.Patterns {
		patterns[i] = list(w, p, func(w *encoding, p *facts.Part) *ast.Term {
			return w.object(w.part, w.str(p.Kind), w.str(p.Word), w.str(p.Arg), w.str(p.Root), w.str(p.Access), w.strings(p.Values), w.str(p.Pattern))
		})
	}
	term := w.object(w.tool,
		boolean(t.Declared), w.str(t.Name), w.str(t.Operation), w.str(t.Handler),
		list(w, t.Roots, func(w *encoding, r *facts.Root) *ast.Term {
			return w.object(w.root, w.str(r.Declared), w.str(r.Path), w.str(r.Prefix), boolean(r.Exists),
				w.strings(r.Access), w.str(r.Param), w.str(r.Place), integer(r.MountID), integer(r.Device))
		}),
		integer(t.MaxBytes), integer(t.TimeoutMS), w.array(commands), w.array(patterns),
		boolean(t.Absolute), boolean(t.CreateParents), w.str(t.Network), w.str(t.Sandbox))
	w.tools.put(t, term)
	return term
}

func (w *encoding) targetTerm(t *facts.Target) *ast.Term {
	raw := w.str(t.Raw)
	requested := raw
	if t.Requested != t.Raw {
		requested = w.str(t.Requested)
	}
	return w.object(w.target,
		w.str(t.Param), integer(t.Position), w.str(t.Access), boolean(t.Recursive), boolean(t.Entry), raw, requested,
		w.lexicalTerm(t.Lexical), w.str(t.Resolution), w.str(t.Missing), w.str(t.Path), w.strings(t.Segments),
		boolean(t.InProject), w.strings(t.Folded), w.str(t.Kind), integer(t.Size), integer(t.Allocated),
		integer(t.Nlink), integer(t.Device), integer(t.MountID), boolean(t.ViaSymlink), boolean(t.LinkTarget),
		w.str(t.PseudoFS), w.str(t.Protected), w.str(t.Resolver), boolean(t.Handle),
		list(w, t.Below, func(w *encoding, b *facts.Below) *ast.Term {
			return w.object(w.below, w.str(b.Path), w.str(b.Folded), w.str(b.Kind))
		}), w.str(t.Walk), w.str(t.Place))
}

func (w *encoding) lexicalTerm(l facts.Lexical) *ast.Term {
	if term := w.lexicals.get(l); term != nil {
		return term
	}
	w = w.apart()
	term := w.object(w.lexical,
		boolean(l.Absolute), boolean(l.ParentSegment), boolean(l.ParentEscape), boolean(l.Backslash), boolean(l.Drive),
		boolean(l.Tilde), boolean(l.NUL), boolean(l.Control), boolean(l.Invisible), boolean(l.BadUTF8),
		boolean(l.PercentEncoded), boolean(l.URL), boolean(l.Empty), boolean(l.TooLong), boolean(l.TrailingDotSpace),
		boolean(l.ReservedName), boolean(l.StreamName), boolean(l.ShortName), boolean(l.Expansion))
	w.lexicals.put(l, term)
	return term
}

func (w *encoding) executableTerm(x facts.Executable) *ast.Term {
	if term := w.executables.get(x); term != nil {
		return term
	}
	w = w.apart()
	term := w.object(w.executable, w.str(x.Path), w.str(x.Resolution), w.str(x.Kind), boolean(x.InProject),
		boolean(x.Executable), integer(x.UID), boolean(x.Foreign), boolean(x.GroupWritable), boolean(x.OtherWritable), w.str(x.Protected), boolean(x.Planted))
	w.executables.put(x, term)
	return term
}

func (w *encoding) sandboxTerm(s facts.Sandbox) *ast.Term {
	if term := w.sandboxes.get(s); term != nil {
		return term
	}
	w = w.apart()
	term := w.object(w.sandbox, w.str(s.Level), boolean(s.Filesystem), boolean(s.Network), boolean(s.Secrets), boolean(s.Limits))
	w.sandboxes.put(s, term)
	return term
}

func (w *encoding) runTerm(r *facts.Run) *ast.Term {
	limits := w.runLimits.get(r.Limits)
	if limits == nil {
		limits = w.apart().object(w.limits, integer(r.Limits.InRow), integer(r.Limits.Total), integer(r.Limits.Malformed))
		w.runLimits.put(r.Limits, limits)
	}
	return w.object(w.run, w.str(r.ID), w.str(r.Door), boolean(r.ReadOnly),
		w.object(w.denials, integer(r.Denials.InRow), integer(r.Denials.Total), integer(r.Denials.Malformed)), limits,
		boolean(r.SignedApprovals))
}

func (w *encoding) skillTerm(s *facts.Skill) *ast.Term {
	if !s.Present && s.Name == "" && len(s.Tools) == 0 {
		return w.noSkill
	}
	return w.object(w.skill, boolean(s.Present), w.str(s.Name), w.strings(s.Tools))
}

func (w *encoding) stepTerm(s *facts.PlanStep) *ast.Term {
	if s.ID == "" && s.Index == 0 && len(s.Tools) == 0 && !s.Failed && s.Retries == 0 {
		return w.noStep
	}
	return w.object(w.step, w.str(s.ID), integer(s.Index), w.strings(s.Tools), boolean(s.Failed), integer(s.Retries))
}

func (w *encoding) approvalTerm(a *facts.Approval) *ast.Term {
	return w.object(w.approval, integer(a.Seq), w.str(a.Tool), w.str(a.Digest), w.str(a.By), w.str(a.Expires),
		integer(a.Remaining), boolean(a.Signed), boolean(a.Refused), boolean(a.MatchesCall), boolean(a.ExpiredAtNow))
}

// value converts an argument.
func (w *encoding) value(v any) *ast.Term {
	if w.text > maxInputText {
		return w.none // refused anyway
	}
	switch v := v.(type) {
	case nil:
		return ast.NullTerm()
	case bool:
		return boolean(v)
	case string:
		return w.str(v)
	case json.Number:
		return w.number(v)
	case []any:
		w.text += len(v)
		terms := make([]*ast.Term, len(v))
		for i, x := range v {
			terms[i] = w.value(x)
		}
		return w.array(terms)
	case map[string]any:
		pairs := make([][2]*ast.Term, 0, len(v))
		for k, x := range v {
			pairs = append(pairs, [2]*ast.Term{w.str(k), w.value(x)})
		}
		return w.term(ast.NewObject(pairs...))
	default:
		w.err = fmt.Errorf("argument of type %T", v)
		return ast.NullTerm()
	}
}

// number keeps the spelling. It refuses what is not a JSON number, on which
// OPA's arithmetic would have no opinion.
func (w *encoding) number(n json.Number) *ast.Term {
	w.text += len(n)
	if n == "" {
		return ast.InternedTerm(0) // as encoding/json has it
	}
	if len(n) > 64 || !json.Valid([]byte(n)) || (n[0] != '-' && (n[0] < '0' || n[0] > '9')) {
		w.err = errors.New("argument is not a number")
	}
	return w.term(ast.Number(n))
}

func (w *encoding) str(s string) *ast.Term {
	if len(s) <= maxWord {
		if t, ok := w.words[s]; ok {
			return t
		}
	}
	w.text += len(s)
	if !utf8.ValidString(s) {
		s = replaceInvalid(s)
	}
	return w.term(ast.String(s))
}

// replaceInvalid does what encoding/json does to text that is no UTF-8, so that
// a recorded input is the one that was judged.
func replaceInvalid(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

func (w *encoding) strings(s []string) *ast.Term {
	if len(s) == 0 {
		return w.none
	}
	terms := make([]*ast.Term, len(s))
	for i, x := range s {
		terms[i] = w.str(x)
	}
	return w.array(terms)
}

func list[T any](w *encoding, s []T, term func(*encoding, *T) *ast.Term) *ast.Term {
	if len(s) == 0 {
		return w.none
	}
	terms := make([]*ast.Term, len(s))
	for i := range s {
		terms[i] = term(w, &s[i])
	}
	return w.array(terms)
}

func boolean(b bool) *ast.Term  { return ast.InternedTerm(b) }
func integer(n int64) *ast.Term { return ast.InternedTerm(n) }
