// Holds the JUnit reports of a runlens to the XML schema of Jenkins, by libxml2:
//   node check.mjs PATH-OF-RUNLENS
// The schema came with Jenkins' dtkit and carries its MIT licence.
import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { validateXML } from "xmllint-wasm";

const runlens = resolve(process.argv[2]);
const schema = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "junit.xsd"), "utf8");
const dir = mkdtempSync(join(tmpdir(), "reports-"));
const write = (name, text) => writeFileSync(join(dir, name), text);
for (const name of ["data", "empty"]) mkdirSync(join(dir, name));
write("data/a.txt", "a\n");
write("one.json", '{"name": "read_file", "arguments": {"path": "data/a.txt"}}');
write("many.jsonl", [
  '{"name": "read_file", "arguments": {"path": "data/a.txt"}}',
  '{"name": "read_file", "arguments": {"path": "../]]><x a=\\"1\\">&amp;\\u0000\\ufffe\\ud83d\\ude00"}}',
  '{"name": "]]>\\u202e", "arguments": {"a": tru}}',
  '{"name": "no such <tool>", "arguments": {}}',
].join("\n"));
write("bytes.json", Buffer.from([0xff, 0xfe, 0x00, 0x3c]));
symlinkSync("nowhere", join(dir, "gone.json"));

// Files, the exit code and the numbers of tests, failures and errors.
const cases = [
  [["one.json"], 0, [1, 0, 0]],
  [["many.jsonl"], 1, [4, 3, 0]],
  [["empty"], 4, [1, 0, 0]],
  [["one.json", "many.jsonl", "bytes.json", "empty", "gone.json"], 2, [8, 4, 1]],
];
let failed = 0;
for (const [files, code, numbers] of cases) {
  const ran = spawnSync(runlens, ["check", "--format", "junit", ...files], { cwd: dir, encoding: "utf8" });
  const head = /<testsuites [^>]*tests="(\d+)" failures="(\d+)" errors="(\d+)"/.exec(ran.stdout);
  const problems = [];
  if (ran.status !== code) problems.push(`exit code ${ran.status}, want ${code}: ${ran.stderr}`);
  if (!head || head.slice(1).map(Number).join() !== numbers.join()) problems.push(`${head && head[0]}, want ${numbers}`);
  const result = await validateXML({ xml: [{ fileName: "report.xml", contents: ran.stdout }], schema: [schema] });
  if (!result.valid) problems.push(result.rawOutput);
  const bad = await validateXML({ xml: [{ fileName: "bad.xml", contents: ran.stdout.replace("<testcase name=", "<testcase nmae=") }], schema: [schema] });
  if (bad.valid) problems.push("the schema takes a misspelt attribute");
  for (const p of problems) console.log(`check --format junit ${files.join(" ")}: ${p}`);
  failed += problems.length > 0 ? 1 : 0;
}
rmSync(dir, { recursive: true });
console.log(`${cases.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
