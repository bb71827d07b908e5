// Package ledger keeps the append-only record of one run.
//
// It promises: what Commit acknowledged is on disk; a run's events form one
// unbroken chain, however many processes write; a fold over them is judged
// only while nobody else can append; whatever a crash leaves is either
// repaired and said so, or refused.
//
// It never repairs a whole line, never overwrites one, never retries a failed
// sync, and knows nothing of policy. Against code that runs under the same uid
// the chain is tamper-evident only with a signed head kept elsewhere.
//
// Read Open first, then Log.Commit, then Verify.
//
// # The file
//
// A run is a directory (0700) that holds events.jsonl (0600): zero or more
// lines, each ended by one newline (0x0a). A line is UTF-8, at most 33554432
// bytes without its newline, and consists of exactly these bytes, without
// white space between them:
//
//	{"v":1,"run_id":"R","seq":N,"ts":"T","type":"Y","payload":P,"prev":"H"}
//
//	R  the run's id, ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$: the directory's name, the
//	   same in every line
//	N  decimal, no sign, no leading zero: 1 in the first line, then one more each
//	T  RFC 3339 in UTC with six fractional digits: 2006-01-02T15:04:05.000000Z;
//	   times say when, seq says in which order: a clock may step back
//	Y  one of the types below
//	P  one JSON object (RFC 8259): no white space outside strings, no member
//	   name twice in one object (compared after unescaping), no lone surrogate
//	   escapes, nested at most 1000 deep; strings and numbers as the writer spelt
//	   them
//	H  lower-case hex SHA-256 of the line before, without its newline; in the
//	   first line 64 zeros
//
// A reader hashes the bytes it found, never bytes it encoded again. A line
// that differs in any way from this form is not an event, so an event has one
// spelling only, save for its payload's strings and numbers.
//
// # Types
//
//	run_started  model_proposed
//	tool_allowed  tool_denied  tool_blocked          a verdict
//	tool_started  tool_succeeded  tool_failed  tool_unknown
//	plan_step_completed
//	approval_requested  approval_granted  approval_refused  approval_used
//	run_stopped  ledger_recovered  note
//
// Payloads are the writer's own, but for these members:
//
//	tool_started      "verdict_seq": the seq of the tool_allowed that it carries
//	                  out, smaller than its own; each verdict is named once.
//	                  "detached":true when no process of ours waits for the end
//	tool_succeeded, tool_failed, tool_unknown
//	                  "started_seq": a tool_started that no earlier one of these
//	                  names
//	ledger_recovered  "dropped_bytes", "sha256" (hex, of those bytes), "offset"
//	                  (where they stood), "file" (the copy kept; "" when nothing
//	                  was dropped), "completed" (the line before it lacked only
//	                  its newline, which was added)
//
// # Writing
//
// A writer holds the exclusive lock of the run, reads to the end of the file,
// then appends all lines of a commit (or of several that go together) with one
// write(2), gives up the lock, and acknowledges after fdatasync(2). Locks are open-file-description locks
// (fcntl(2), F_OFD_SETLK) on single bytes of events.jsonl far behind its end:
// at 1<<62 + 2n, where n = 0 is the turn (taken while waiting for the lock and
// dropped once it is held, so that no process starves), n = 1 the lock itself,
// n = 2+seq is held while the process that wrote tool_started seq lives and
// has not written its end. Where a system has no such locks, flock(2) on the
// files events.jsonl.lock.<n> stands in; Windows uses LockFileEx on the same
// bytes.
//
// # After a crash
//
// Whoever next holds the lock looks at the bytes behind the last newline. They
// were never acknowledged. If they start with a whole event that continues the
// chain, that event is kept and gets its newline. The rest is copied to
// events.jsonl.torn.<seq of the ledger_recovered to come> and synced, then cut
// off, then ledger_recovered is appended. A copy that no ledger_recovered
// names, with the next seq in its name, tells the next Open that the last step
// is missing. An ended last line that is no event counts as torn only when it
// holds a NUL byte (pages that never reached the disk); any other line that is
// no event, anywhere, is corruption: nothing is appended any more. Open also
// appends tool_unknown for each tool_started that has no end and whose process
// is gone, except detached ones.
//
// # Beside it
//
// The file fold is a cache of the state folded from the events, bound to the
// hash of one line and authenticated with a key kept elsewhere; deleting it
// costs time only. Its form is private to this package. A signed head is a
// C2SP signed note (https://c2sp.org/signed-note) whose text has the three
// lines of a checkpoint (https://c2sp.org/tlog-checkpoint):
//
//	runlens/<run_id>
//	<number of events, decimal>
//	<standard base64 of the SHA-256 of the last line; 32 zero bytes for none>
//
// The third line is the head of the chain, which fixes every line before it;
// it is not the root of a Merkle tree.
package ledger
