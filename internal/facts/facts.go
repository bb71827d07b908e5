// Package facts holds the one document that policy judges: what the host found
// out about a call, its tool, the objects it points at and the run it belongs to.
//
// Facts are total: every field is always present and typed, so that a rule
// which names a field can never be silently undefined. Facts are plain values;
// nothing here opens, judges or decides anything. The zero Input is denied.
//
// Read Input first, then Target, then Encode.
package facts

// Version is the value of Input.V. It changes when a field changes its meaning
// or goes away; adding a field does not change it.
const Version = 1

// Input is the document that policy sees as `input`, that `runlens check
// --format input` prints, and that the ledger records whole.
// schemas/input.json describes it and is closed.
type Input struct {
	V         int        `json:"v"`
	Call      Call       `json:"call"`
	Tool      *Tool      `json:"tool"` // never nil in a judged input; shared between calls, immutable
	Targets   []Target   `json:"targets"`
	Command   Command    `json:"command"`
	Sandbox   Sandbox    `json:"sandbox"`
	Run       Run        `json:"run"`
	Skill     Skill      `json:"skill"`
	Plan      Plan       `json:"plan"`
	Contract  Contract   `json:"contract"`
	Approvals []Approval `json:"approvals"`
	Now       string     `json:"now"` // RFC 3339 UTC, microseconds; outside the input digest
}

// Call is the admitted proposal without its bulk: content to be written is in
// Payloads, and strings that must not be recorded are in Withheld.
type Call struct {
	ID        string         `json:"id"` // "" when the caller gave none
	Tool      string         `json:"tool"`
	Digest    string         `json:"digest"`    // sha256:<hex> over the typed canonical arguments and the name
	Arguments map[string]any `json:"arguments"` // string, bool, nil, json.Number, []any, map[string]any
	Payloads  []Payload      `json:"payloads"`
	Withheld  []Withheld     `json:"withheld"`

	// Interrupted: an earlier start of this very call (same tool, same digest)
	// has no known end, so what it does may have been done already.
	Interrupted bool `json:"interrupted"`
}

// Payload describes the content of one parameter that the manifest marks
// `payload`. It is absent from Call.Arguments.
type Payload struct {
	Pointer string   `json:"pointer"` // JSON pointer below arguments, "/content"
	Bytes   int64    `json:"bytes"`   // of the rendered bytes that would be written
	Digest  string   `json:"digest"`  // sha256:<hex> of the rendered bytes
	Kinds   []string `json:"kinds"`   // secret kinds found, sorted
}

// Withheld describes an argument string that was replaced by "".
type Withheld struct {
	Pointer string   `json:"pointer"`
	Bytes   int64    `json:"bytes"`
	Kinds   []string `json:"kinds"` // secret kinds found, sorted; empty when only the length was the cause
}

// Operations and accesses, the words of the contract.
const (
	Read    = "read"
	List    = "list"
	Search  = "search"
	Write   = "write"
	Delete  = "delete"
	Rename  = "rename"
	Execute = "execute"
	Fetch   = "fetch"
	Compute = "compute"
)

// Tool is what the manifest declares, resolved for this project and run.
type Tool struct {
	Declared      bool       `json:"declared"`
	Name          string     `json:"name"`
	Operation     string     `json:"operation"`
	Handler       string     `json:"handler"`
	Roots         []Root     `json:"roots"`
	MaxBytes      int64      `json:"max_bytes"`      // 0: the tool sets none
	TimeoutMS     int64      `json:"timeout_ms"`     // 0: the tool sets none
	Commands      [][]string `json:"commands"`       // whole argvs
	Patterns      [][]Part   `json:"patterns"`       // whole argvs of which a call fills in some arguments
	Absolute      bool       `json:"absolute"`       // absolute paths are allowed in
	CreateParents bool       `json:"create_parents"` // missing parents are made after an allow
	Network       string     `json:"network"`        // what its program gets: "none", or "private": a loopback of its own; "" when the tool runs no program
	Sandbox       string     `json:"sandbox"`        // level the tool asks for: "full", "none"; "" when the tool runs no program
}

// Part is one argument of a command as the manifest declares it. Beside Kind, the
// fields of other kinds are empty.
type Part struct {
	Kind    string   `json:"kind"`    // Word, Path, Choice or Text
	Word    string   `json:"word"`    // word: the argument itself
	Arg     string   `json:"arg"`     // all but word: the name of what a call fills in; a path is a target of this parameter
	Root    string   `json:"root"`    // path: the root that it must lie in, as declared, with {run_id} filled in
	Access  string   `json:"access"`  // path: of the target
	Values  []string `json:"values"`  // choice: what it may be
	Pattern string   `json:"pattern"` // text: RE2, anchored at both ends
}

// Kinds of a Part.
const (
	Word   = "word"
	Path   = "path"
	Choice = "choice"
	Text   = "text"
)

// Root is one allowed root of a tool.
type Root struct {
	Declared string   `json:"declared"` // as the manifest says, with {run_id} filled in
	Path     string   `json:"path"`     // canonical absolute path, from the root's own handle; the lexical absolute path while it does not exist
	Prefix   string   `json:"prefix"`   // Path with exactly one final "/"
	Exists   bool     `json:"exists"`   // it exists and is a directory
	Access   []string `json:"access"`   // accesses it is a root for
	Param    string   `json:"param"`    // the one parameter it is a root for, which then has no other; "": all others
	Place    string   `json:"place"`    // PlacePlanted; for programs that see roots also how it stands to protected places: PlaceInside, PlaceSecret, PlaceHolds; else ""
	MountID  int64    `json:"mount_id"` // 0 when unknown
	Device   int64    `json:"device"`
}

// How a directory that a program sees stands to protected places. The run's own artifacts are in none.
const (
	PlaceInside  = "inside"  // it is such a place, or lies in one
	PlaceHolds   = "holds"   // such a place lies in it, or would once somebody made it; or it lies in one of tools' programs
	PlaceSecret  = "secret"  // it has, or lies below, a name that policy refuses
	PlacePlanted = "planted" // of a root: a link leads there that a tool could have made. It is as if it did not exist
)

// Target is one object that a call touches: what was asked for, and what is there.
type Target struct {
	Param      string   `json:"param"`
	Position   int64    `json:"position"` // place in the command's argv, from 1; 0 when it is no argument of a command
	Access     string   `json:"access"`
	Recursive  bool     `json:"recursive"`
	Entry      bool     `json:"entry"`     // an entry of a listed folder that would be shown by name; the call did not name it
	Raw        string   `json:"raw"`       // the parameter's value as it came
	Requested  string   `json:"requested"` // the template filled in: what is resolved
	Lexical    Lexical  `json:"lexical"`   // of Raw
	Resolution string   `json:"resolution"`
	Missing    string   `json:"missing"`  // with not_found: "parent" or "name"; else ""
	Path       string   `json:"path"`     // canonical absolute path; of the deepest object that opens when Resolution is an error
	Segments   []string `json:"segments"` // of Path: from the project directory inside it, from "/" outside
	InProject  bool     `json:"in_project"`
	Folded     []string `json:"folded"` // folded segments, requested and canonical, sorted, unique
	Kind       string   `json:"kind"`
	Size       int64    `json:"size"`
	Allocated  int64    `json:"allocated"` // bytes on disk; a sparse file has fewer than Size
	Nlink      int64    `json:"nlink"`
	Device     int64    `json:"device"`
	MountID    int64    `json:"mount_id"` // 0 when unknown
	ViaSymlink bool     `json:"via_symlink"`
	LinkTarget bool     `json:"link_target"` // the last name is a symbolic link, not followed
	PseudoFS   string   `json:"pseudo_fs"`   // "proc", "sysfs", …; "" for a real file system
	Protected  string   `json:"protected"`   // Protected… below; "" when not protected
	Resolver   string   `json:"resolver"`    // "openat2" or "root_walk"
	Handle     bool     `json:"handle"`      // the object (for absent: its parent) is held open
	Below      []Below  `json:"below"`       // recursive: entries whose folded names policy data cares about
	Walk       string   `json:"walk"`        // recursive: "complete" or "cut"; "" otherwise
	Place      string   `json:"place"`       // how a directory that a program would see stands to protected places: PlaceInside, PlaceHolds or ""; "" for all others
}

// Resolutions of a target.
const (
	OK            = "ok"
	Absent        = "absent"    // the parent is held, the name is free
	NotFound      = "not_found" // of an access that needs an object, or of a parent
	NoAccess      = "no_access"
	NotADirectory = "not_a_directory"
	Loop          = "loop"
	TooLong       = "too_long"
	Busy          = "busy"    // kept changing while it was resolved
	Changed       = "changed" // the object was unlinked while it was resolved
	Invalid       = "invalid" // could not be asked of the kernel: NUL, empty, not resolvable text
	Failed        = "failed"  // any other error
)

// Kinds of an object.
const (
	File        = "file"
	Directory   = "directory"
	FIFO        = "fifo"
	Socket      = "socket"
	CharDevice  = "char_device"
	BlockDevice = "block_device"
	Symlink     = "symlink"
	None        = "none" // nothing is there, or it could not be opened
)

// Classes of protected places.
const (
	ProtectedRun      = "run"      // a run's ledger, contract or cache: refused for every access
	ProtectedPolicy   = "policy"   // where policies are looked up: refused for writes
	ProtectedManifest = "manifest" // where manifests are looked up: refused for writes
	ProtectedConfig   = "config"
	ProtectedKey      = "key"      // refused for every access
	ProtectedHandler  = "handler"  // a program that a manifest binds to a tool: refused for writes
	ProtectedAncestor = "ancestor" // a folder above such a place, or onto which one would land: refused for writes of folders, deletes and renames
)

// Lexical says what is odd about a path as text. Which oddities are refused is
// policy data; the names are its keys.
type Lexical struct {
	Absolute         bool `json:"absolute"`
	ParentSegment    bool `json:"parent_segment"` // a ".." anywhere
	ParentEscape     bool `json:"parent_escape"`  // ".." above the start
	Backslash        bool `json:"backslash"`
	Drive            bool `json:"drive"` // C:, C:\x, \\host, \\?\, \??\, //host
	Tilde            bool `json:"tilde"` // leading ~
	NUL              bool `json:"nul"`
	Control          bool `json:"control"`   // C0 but NUL, DEL, C1
	Invisible        bool `json:"invisible"` // zero-width, bidi, soft hyphen, variation selectors, tags, fillers
	BadUTF8          bool `json:"bad_utf8"`  // of the resolved name: JSON cannot carry it
	PercentEncoded   bool `json:"percent_encoded"`
	URL              bool `json:"url"`
	Empty            bool `json:"empty"`
	TooLong          bool `json:"too_long"` // a path of 4096 bytes or more, or a segment of 256 or more
	TrailingDotSpace bool `json:"trailing_dot_space"`
	ReservedName     bool `json:"reserved_name"` // CON, NUL, COM1 …
	StreamName       bool `json:"stream_name"`   // f.txt::$DATA, f.txt:s
	ShortName        bool `json:"short_name"`    // ENV~1
	Expansion        bool `json:"expansion"`     // $HOME, ${x}, $(x), %USERPROFILE%, *
}

// Below is one entry inside a recursive target.
type Below struct {
	Path   string `json:"path"`   // relative to the target
	Folded string `json:"folded"` // its folded last segment
	Kind   string `json:"kind"`
}

// Command is what an execute tool would run.
type Command struct {
	Present    bool       `json:"present"`
	Argv       []string   `json:"argv"`    // as the call or the manifest says
	Run        []string   `json:"run"`     // as it would be run: paths by the canonical path of what was opened
	Pattern    int64      `json:"pattern"` // place in the tool's patterns, from 1, of the one that counts: the first that takes argv by its text; 0: argv is declared word by word, or fits none
	Dir        string     `json:"dir"`     // canonical path of the working directory; "" when it could not be opened
	Executable Executable `json:"executable"`
}

// Executable is the program that argv[0] names, found in the manifest's path.
type Executable struct {
	Path          string `json:"path"` // canonical absolute path, "" when not found
	Resolution    string `json:"resolution"`
	Kind          string `json:"kind"`
	InProject     bool   `json:"in_project"`
	Executable    bool   `json:"executable"` // has an execute bit
	UID           int64  `json:"uid"`
	Foreign       bool   `json:"foreign"`        // it, or a directory on the way to it, belongs neither to root nor to the user that RunLens runs as nor, in the project, to its owner
	GroupWritable bool   `json:"group_writable"` // it, or a directory on the way to it, also through links; a directory in which each may only change what is his own counts when what it has there belongs to others. Its owner's own group, of the same number, doesn't count
	OtherWritable bool   `json:"other_writable"` // likewise
	Protected     string `json:"protected"`      // class of the protected place that it is or lies in; "" when none
	Planted       bool   `json:"planted"`        // a tool could have put it there: it, or a link on the way to it, lies where one may write
}

// Sandbox is what isolation would be applied to a child.
type Sandbox struct {
	Level      string `json:"level"` // "none", "partial", "full"
	Filesystem bool   `json:"filesystem"`
	Network    bool   `json:"network"`
	Secrets    bool   `json:"secrets"`
	Limits     bool   `json:"limits"`
}

// Run is the run's state before this call, a fold over its ledger.
type Run struct {
	ID       string    `json:"id"`
	Door     string    `json:"door"` // "cli", "hook", "mcp"
	ReadOnly bool      `json:"read_only"`
	Denials  Denials   `json:"denials"`
	Limits   RunLimits `json:"limits"`

	SignedApprovals bool `json:"signed_approvals"` // the manifest names approvers: what none of them signed does not count
}

// Denials counts what was refused so far in the run.
type Denials struct {
	InRow     int64 `json:"in_row"`
	Total     int64 `json:"total"`     // denied and blocked
	Malformed int64 `json:"malformed"` // malformed or invalid calls
}

// RunLimits are a run's own limits on Denials; -1 leaves it to policy data.
type RunLimits struct {
	InRow     int64 `json:"in_row"`
	Total     int64 `json:"total"`
	Malformed int64 `json:"malformed"`
}

// Skill is the run's skill.
type Skill struct {
	Present bool     `json:"present"`
	Name    string   `json:"name"`
	Tools   []string `json:"tools"` // the run's allowlist
}

// Plan is the run's position in its plan.
type Plan struct {
	Status string   `json:"status"` // "none", "active", "complete"
	Step   PlanStep `json:"step"`
}

// PlanStep is the current step; zero when no plan is active.
type PlanStep struct {
	ID      string   `json:"id"`
	Index   int64    `json:"index"` // from 1
	Tools   []string `json:"tools"`
	Failed  bool     `json:"failed"`  // the last tool of the step that ended has failed
	Retries int64    `json:"retries"` // retries in a row that failed too
}

// Contract says whether this call is judged under what run_started fixed.
type Contract struct {
	Present bool     `json:"present"`
	Matches bool     `json:"matches"`
	Drift   []string `json:"drift"` // what differs: "goal", "policy_revision", …; sorted
}

// Approval is a person's answer to a call of this tool with these arguments: one
// that has uses left, or a refusal.
type Approval struct {
	Seq          int64  `json:"seq"`
	Tool         string `json:"tool"`
	Digest       string `json:"digest"` // of the approved arguments
	By           string `json:"by"`
	Expires      string `json:"expires"` // RFC 3339 UTC
	Remaining    int64  `json:"remaining"`
	Signed       bool   `json:"signed"`
	Refused      bool   `json:"refused"`      // the person said no; Remaining is 0 and Expires ""
	MatchesCall  bool   `json:"matches_call"` // tool, digest, objects and policy revision are this call's; of a refusal, tool and digest
	ExpiredAtNow bool   `json:"expired"`      // at Now
}
