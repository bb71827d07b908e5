//go:build unix

// Command bench runs RunLens' benchmarks and prints them as ratios against
// baselines measured in the same run: single times say little on a shared
// machine. Run it with `make bench`, which builds bin/runlens and bin/opa first.
// A part of it runs alone with `make bench ONLY=longrun`, or `go run ./test/bench -only longrun`.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ratio is one figure: the median of a benchmark over that of its baseline.
type ratio struct {
	what     string
	of, over string  // benchmark names
	limit    float64 // 0: printed only
	atLeast  bool    // the limit is a lower bound
}

var packages = []string{"./internal/call", "./internal/manifest", "./internal/resolve", "./internal/engine", "./internal/ledger", "./internal/executor"}

var ratios = []ratio{
	{what: "decision / default-option EvalInput", of: "BenchmarkDecide", over: "BenchmarkEvalInputDefault", limit: 0.75},
	{what: "decision with 5,000 site rules / with 100", of: "BenchmarkDecideSiteRules/5000", over: "BenchmarkDecideSiteRules/100", limit: 1.3},
	{what: "whole check of a read / its decision", of: "BenchmarkCheckRead", over: "BenchmarkCheckDecision", limit: 1.6},
	{what: "check in a run of 20,000 events / of 20", of: "BenchmarkCheckRun/20000", over: "BenchmarkCheckRun/20", limit: 1.2},
	{what: "durable exec of a write / four bare syncs", of: "BenchmarkExecWrite", over: "BenchmarkBareWrite", limit: 1.3},
	{what: "64 concurrent reads, calls/s / single", of: "BenchmarkExecRead", over: "BenchmarkExecRead64", limit: 12, atLeast: true},
	{what: "64 concurrent bare writes, time / 64 concurrent writes", of: "BenchmarkBareWrite64", over: "BenchmarkExecWrite64", limit: 0.8, atLeast: true},
}

// differences are bounds on a difference of medians, in nanoseconds.
var differences = []struct {
	what     string
	of, over string
	limit    float64
}{
	{"decision above bare evaluation, ns", "BenchmarkDecide", "BenchmarkBareEval", 15_000},
}

// inTurns are bounds on ratios that a benchmark measures by itself, taking turns
// with its baseline.
var inTurns = []struct {
	what, of string
	limit    float64
}{
	{"exec of /bin/true in the sandbox / a plain spawn", "BenchmarkExecSandboxed", 12},
}

// parts are what can be measured alone, in order; each prints its figures and
// says how many were missed.
var parts = []struct {
	name string
	run  func() (int, error)
}{{"go", benchmarkRatios}, {"processes", processes}, {"longrun", longRun}, {"replay", replays}}

func main() {
	only := flag.String("only", "", "measure these `PARTS` alone, parted by commas: go, processes, longrun, replay")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	missed, err := run(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("\n%d figure(s) missed\n", missed)
		os.Exit(1)
	}
}

// run measures the parts that only names; all of them when it is empty.
func run(only string) (missed int, err error) {
	var known, wanted []string
	for _, p := range parts {
		known = append(known, p.name)
	}
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return 0, fmt.Errorf("read arguments: -only: unknown part %q (one of %s)", name, strings.Join(known, ", "))
		}
	}
	for _, p := range parts {
		if wanted != nil && !slices.Contains(wanted, p.name) {
			continue
		}
		more, err := p.run()
		if missed += more; err != nil {
			return missed, err
		}
	}
	return missed, nil
}

// benchmarkRatios holds the Go benchmarks against their baselines.
func benchmarkRatios() (missed int, err error) {
	times, err := benchmarks()
	if err != nil {
		return 0, err
	}
	fmt.Println("\nratios of medians, same run")
	for _, r := range ratios {
		of, over := median(times[r.of]), median(times[r.over])
		if of == 0 || over == 0 {
			return missed, fmt.Errorf("no result for %s or %s", r.of, r.over)
		}
		missed += show(r.what, of/over, r.limit, r.atLeast)
	}
	for _, d := range differences {
		missed += show(d.what, median(times[d.of])-median(times[d.over]), d.limit, false)
	}
	for _, f := range inTurns {
		if got := median(times[f.of+" times"]); got > 0 {
			missed += show(f.what, got, f.limit, false)
			fmt.Printf("    %.1f ms against %.1f ms; the first in a process took %.1f ms\n", median(times[f.of+" sandbox-µs"])/1e3,
				median(times[f.of+" plain-µs"])/1e3, median(times[f.of+" first-µs"])/1e3)
		} else {
			fmt.Printf("  %-58s not measured: the benchmark was skipped\n", f.what)
		}
	}
	return missed, nil
}

// show prints a figure beside its bound and says whether it was missed.
func show(what string, got, limit float64, atLeast bool) int {
	sign, ok := "≤", got <= limit
	if atLeast {
		sign, ok = "≥", got >= limit
	}
	mark := "ok"
	if !ok {
		mark = "MISSED"
	}
	fmt.Printf("  %-58s %10.2f   %s %-8g %s\n", what, got, sign, limit, mark)
	if ok {
		return 0
	}
	return 1
}

var line = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// ownFigure is one that a benchmark reports by itself.
var ownFigure = regexp.MustCompile(`\s([0-9.e+]+) (times|first-µs|sandbox-µs|plain-µs)(?:\s|$)`)

// benchmarks runs all Go benchmarks five times and collects ns/op by name.
func benchmarks() (map[string][]float64, error) {
	args := append([]string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-count", "5", "-benchtime", "200ms", "-timeout", "30m", "-p", "1"}, packages...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	times := map[string][]float64{}
	for scan := bufio.NewScanner(out); scan.Scan(); {
		fmt.Println(scan.Text())
		if m := line.FindStringSubmatch(scan.Text()); m != nil {
			if ns, err := strconv.ParseFloat(m[2], 64); err == nil {
				times[m[1]] = append(times[m[1]], ns)
			}
			for _, own := range ownFigure.FindAllStringSubmatch(scan.Text(), -1) {
				if n, err := strconv.ParseFloat(own[1], 64); err == nil {
					name := m[1] + " " + own[2]
					times[name] = append(times[name], n)
				}
			}
		}
	}
	return times, cmd.Wait()
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// processRuns is how often each process is started.
const processRuns = 15

// processes times whole processes in turn: check against opa eval on the same
// policies and input, and check with 500 site rules against the shipped tree.
func processes() (missed int, err error) {
	dir, err := os.MkdirTemp("", "runlens-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	call, input, site, err := layOut(dir)
	if err != nil {
		return 0, err
	}
	check := []string{"bin/runlens", "--project", dir, "check", call}
	eval := []string{"bin/opa", "eval", "-d", "policies", "-i", input, "data.runlens.decision"}
	withSite := []string{"bin/runlens", "--project", dir, "--policies", site, "check", call}
	var checkT, evalT, siteT []float64
	peak := int64(0)
	for range processRuns {
		for _, p := range []struct {
			argv []string
			into *[]float64
		}{{check, &checkT}, {eval, &evalT}, {withSite, &siteT}} {
			wall, rss, err := once(p.argv)
			if err != nil {
				return 0, err
			}
			*p.into = append(*p.into, float64(wall))
			if p.into == &checkT {
				peak = max(peak, rss)
			}
		}
	}
	fmt.Println("\nwhole processes, medians of", processRuns)
	fmt.Printf("  check %.1f ms, opa eval %.1f ms, check with 500 site rules %.1f ms\n", median(checkT)/1e6, median(evalT)/1e6, median(siteT)/1e6)
	missed += show("check / opa eval, wall", median(checkT)/median(evalT), 0.7, false)
	missed += show("check with 500 site rules / shipped tree, wall", median(siteT)/median(checkT), 2, false)
	missed += show("check, peak memory, MiB", float64(peak)/1024, 40, false)
	return missed, nil
}

// once runs a process, with env added to this one's, and returns its wall time
// in nanoseconds and its peak memory in KiB.
func once(argv []string, env ...string) (wall time.Duration, rss int64, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, stderr.Bytes())
	}
	wall = time.Since(begin)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		rss = usage.Maxrss
	}
	return wall, rss, nil
}

// layOut makes a project with one file, a call that reads it, the policy input
// of that call, and a policy tree with 500 site rules.
func layOut(dir string) (call, input, site string, err error) {
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return "", "", "", err
	}
	call, input = filepath.Join(dir, "call.json"), filepath.Join(dir, "input.json")
	files := map[string]string{
		filepath.Join(dir, "data", "feedback.txt"): "works well\n",
		call: `{"name":"read_file","arguments":{"path":"data/feedback.txt"}}`,
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return "", "", "", err
		}
	}
	out, err := exec.Command("bin/runlens", "--project", dir, "check", "--format", "input", call).Output()
	if err != nil {
		return "", "", "", fmt.Errorf("print input: %w", err)
	}
	if err := os.WriteFile(input, out, 0o644); err != nil {
		return "", "", "", err
	}
	site = filepath.Join(dir, "site")
	if err := os.CopyFS(site, os.DirFS("policies")); err != nil {
		return "", "", "", err
	}
	return call, input, site, addSiteRules(site, 500)
}

// addSiteRules adds a family of n rules of the kind that a site writes most:
// one tool, one name, refused.
func addSiteRules(tree string, n int) error {
	var rules strings.Builder
	rules.WriteString("package runlens.rules.site\n\nimport data.runlens.lib\n")
	for i := range n {
		fmt.Fprintf(&rules, `
# METADATA
# title: site rule %d
# description: the site refuses this tool
# custom:
#   code: site_refused
deny contains lib.reason(rego.metadata.rule(), {}) if {
	input.call.tool == "site_tool_%d"
}
`, i, i)
	}
	family := filepath.Join(tree, "runlens", "rules", "site")
	if err := os.MkdirAll(family, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(family, "site.rego"), []byte(rules.String()), 0o644); err != nil {
		return err
	}
	return declareCode(filepath.Join(tree, "runlens", "codes", "data.json"), "site_refused")
}

// declareCode adds a code to the tree's catalogue.
func declareCode(file, code string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var codes map[string]any
	if err := json.Unmarshal(text, &codes); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	codes[code] = map[string]any{"gate": "registry", "retryable": false, "remedy": "use another tool"}
	if text, err = json.Marshal(codes); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
