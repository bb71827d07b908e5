// Holds the reports of a runlens to the schemas of their readers:
//   node check.mjs PATH-OF-RUNLENS
// JUnit to the XML schema of Jenkins, by libxml2; it came with Jenkins' dtkit and
// carries its MIT licence. SARIF to the JSON schema of OASIS, by ajv.
import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import Ajv from "ajv-draft-04";
import formats from "ajv-formats";
import { validateXML } from "xmllint-wasm";

const runlens = resolve(process.argv[2]);
const here = dirname(fileURLToPath(import.meta.url));
const junitSchema = readFileSync(join(here, "junit.xsd"), "utf8");
const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
const fitsSarif = ajv.compile(JSON.parse(readFileSync(join(here, "../../internal/report/testdata/sarif-schema-2.1.0.json"), "utf8")));

const dir = mkdtempSync(join(tmpdir(), "reports-"));
process.on("exit", () => rmSync(dir, { recursive: true }));
const write = (name, text) => {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
};
const ran = (words, input = "") => spawnSync(runlens, words, { cwd: dir, encoding: "utf8", input, maxBuffer: 1 << 28 });
const must = (words, input) => {
  const done = ran(words, input);
  if (done.status !== 0) throw new Error(`runlens ${words.join(" ")}: exit code ${done.status}: ${done.stderr}`);
};
const read = (path) => JSON.stringify({ name: "read_file", arguments: { path } });

// Text that means something to XML, JSON, URIs or a terminal.
const foreign = `]]><x a="1">&amp;%41\u202e😀`;

// Calls.
for (const name of ["data", "empty"]) mkdirSync(join(dir, name));
write("data/a.txt", "a\n");
write("one.json", read("data/a.txt"));
write("refused.json", read("../a.txt"));
write("many.jsonl", [
  read("data/a.txt"),
  '{"name": "read_file", "arguments": {"path": "../]]><x a=\\"1\\">&amp;\\u0000\\ufffe\\ud83d\\ude00"}}',
  '{"name": "]]>\\u202e", "arguments": {"a": tru}}',
  '{"name": "no such <tool>", "arguments": {}}',
].join("\n"));
write("bytes.json", Buffer.from([0xff, 0xfe, 0x00, 0x3c]));
symlinkSync("nowhere", join(dir, "gone.json"));

// Golden cases. Each is a row or more of its own line.
const golden = (rows) => `A story.\n\n-- data/a.txt --\na\n-- call.json --\n${read("$PATH")}\n-- table --\n${rows.join("\n")}\n`;
const good = '"data/a.txt" allow allowed "data/a.txt"';
const wrong = (path) => `${JSON.stringify(path)} allow allowed`;
write("passes/f/c.txtar", golden([good]));
write("fails/f/c.txtar", golden([wrong("../a.txt")]));
write("mixed/f/c.txtar", golden([good, wrong("../a.txt"), wrong(`../${foreign}`), wrong("data/.env")]));
write("broken/f/c.txtar", golden([good, wrong("../a.txt")]));
write("broken/f/d.txtar", golden(["no row"]));
write(`broken/f/<stray> ${foreign.replace("/", "")}`, "");

// Records, and policies that loosen one call, or many in several ways.
const run = (id, paths) => must(["--run", id, "run"], paths.map(read).join("\n"));
const staging = ["data/.env.staging", `data/.env.${foreign}.staging`];
for (const name of staging) write(name, "K=1\n");
run("quiet", ["data/a.txt", "data/missing.txt"]);
run("one", ["data/a.txt", staging[0]]);
run("many", [...staging, "data/.env.missing.staging", `data\\${foreign}`, "data/a.txt"]);
run("cut", ["data/a.txt", staging[0]]);
const lines = readFileSync(join(dir, "runs/cut/events.jsonl"), "utf8").split("\n");
write("runs/cut/events.jsonl", [...lines.slice(0, -3), lines.at(-3).replace("seq", "seqq"), lines.at(-2), ""].join("\n"));
must(["policy", "export", "loose"]);
const data = readFileSync(join(dir, "loose/runlens/data.json"), "utf8");
write("loose/runlens/data.json", data.replace('".example", ', '".example", ".staging", ').replace('"backslash": true', '"backslash": false'));
mkdirSync(join(dir, "norun"));
const diff = (old, now, runs) => ["policy", "diff", "--no-cases", "--no-corpus", "--runs", runs, old, now];

// Words, the exit code, JUnit's numbers of tests, failures and errors, and how
// many results SARIF has.
const cases = [
  [["check", "one.json"], 0, [1, 0, 0], 0],
  [["check", "refused.json"], 1, [1, 1, 0], 1],
  [["check", "many.jsonl"], 1, [4, 3, 0], 3],
  [["check", "empty"], 4, [1, 0, 0], 0],
  [["check", "one.json", "many.jsonl", "bytes.json", "empty", "gone.json"], 2, [8, 4, 1], 5],
  [["test", "passes"], 0, [1, 0, 0], 0],
  [["test", "fails"], 1, [1, 1, 0], 1],
  [["test", "mixed"], 1, [4, 3, 0], 3],
  [["test", "broken"], 2, [4, 1, 2], 3],
  [["test", "empty"], 4, [1, 0, 1], 1],
  [["replay", "quiet"], 0, [1, 0, 0], 0],
  [["replay", "--policies", "loose", "quiet"], 0, [1, 0, 0], 0],
  [["replay", "--policies", "loose", "one"], 1, [2, 1, 0], 1],
  [["replay", "--policies", "loose", "many", "--fail-on", "any"], 1, [4, 3, 0], 3],
  [["replay", "--policies", "loose", "many", "cut"], 2, [5, 1, 1], 2],
  [["replay", "norun"], 4, [1, 0, 1], 1],
  [diff("embedded", "embedded", "runs/many"), 0, [1, 0, 0], 0],
  [diff("embedded", "loose", "runs/one"), 1, [2, 1, 0], 1],
  [[...diff("embedded", "loose", "runs/many"), "--fail-on", "any"], 1, [4, 3, 0], 3],
  [diff("embedded", "loose", "norun"), 4, [1, 0, 1], 1],
];

async function junit(text, numbers) {
  const problems = [];
  const head = /<testsuites [^>]*tests="(\d+)" failures="(\d+)" errors="(\d+)"/.exec(text);
  if (!head || head.slice(1).map(Number).join() !== numbers.join()) problems.push(`${head && head[0]}, want ${numbers}`);
  const result = await validateXML({ xml: [{ fileName: "report.xml", contents: text }], schema: [junitSchema] });
  if (!result.valid) problems.push(result.rawOutput);
  const bad = text.replace("<testsuites name=", "<testsuites nmae=");
  if ((await validateXML({ xml: [{ fileName: "bad.xml", contents: bad }], schema: [junitSchema] })).valid) problems.push("the schema takes a misspelt attribute");
  return problems;
}

function sarif(text, results) {
  const problems = [];
  const log = JSON.parse(text);
  if (!fitsSarif(log)) problems.push(ajv.errorsText(fitsSarif.errors, { separator: "\n" }));
  if (log.runs.length !== 1 || log.runs[0].results.length !== results) problems.push(`${log.runs[0].results.length} results, want ${results}`);
  if (fitsSarif(JSON.parse(text.replace('"driver"', '"dirver"')))) problems.push("the schema takes a misspelt property");
  return problems;
}

let failed = 0;
for (const [words, code, numbers, results] of cases) {
  for (const format of ["junit", "sarif"]) {
    const done = ran([...words, "--format", format]);
    const problems = done.status === code ? [] : [`exit code ${done.status}, want ${code}: ${done.stderr}`];
    try {
      problems.push(...(format === "junit" ? await junit(done.stdout, numbers) : sarif(done.stdout, results)));
    } catch (err) {
      problems.push(`${err}`);
    }
    for (const p of problems) console.log(`${words.join(" ")} --format ${format}: ${p}`);
    failed += problems.length > 0 ? 1 : 0;
  }
}
console.log(`${2 * cases.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
