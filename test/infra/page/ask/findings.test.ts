// Tests how the page reads a diagnosis, as the machine's own function writes its findings.
import { expect, it } from "vitest";
import { findingsLines } from "../../../../node-shim/doctor/finding.ts";
import { diagnosisIn } from "../../../../infra/page/ask/findings.ts";

it("findings of the machine → their parts, and the question that shows more", () => {
  const lines = findingsLines([
    { check: "disk", level: "fail", message: "/var is full:  98 %", todo: "ask folders path=/var" },
    { check: "kernel's log", level: "warn", message: "sda: 3 read errors", todo: "ask disks" },
    { check: "link", level: "warn", message: "eth0 has no carrier", todo: "check the cable" },
    { check: "boot", level: "warn", message: "it started 5 min ago" },
  ]);
  const others = ["no fault found: runtime, load", "not checked: heat: no sensor"];
  expect(diagnosisIn([...lines, ...others, ""].join("\n"))).toEqual({
    findings: [
      {
        check: "disk",
        level: "fail",
        message: "/var is full:  98 %",
        todo: { kind: "ask", name: "folders", parameters: { path: "/var" } },
      },
      {
        check: "kernel's log",
        level: "warn",
        message: "sda: 3 read errors",
        todo: { kind: "ask", name: "disks", parameters: {} },
      },
      {
        check: "link",
        level: "warn",
        message: "eth0 has no carrier",
        todo: { kind: "text", text: "check the cable" },
      },
      { check: "boot", level: "warn", message: "it started 5 min ago", todo: null },
    ],
    others,
  });
});

it.each([
  ["a question with more than a question", "ask logs unit=a; reboot"],
  ["a value without a name", "ask logs =a"],
  ["no question", "ask another operator"],
])("%s → a text", (_, todo) => {
  const [finding] = diagnosisIn(`fail  unit  x\n      → ${todo}\n`).findings;
  expect(finding?.todo).toEqual({ kind: "text", text: todo });
});

it.each([
  ["half a million lines", "fail  unit  x\n".repeat(500_000), 500],
  ["a line of 4 MiB", `fail  unit  ${"x".repeat(4 * 1024 * 1024)}`, 1],
])("%s of a machine that means harm → the first ones, and that there are more", (_, text, count) => {
  const { findings, others } = diagnosisIn(text);
  expect(findings).toHaveLength(count);
  expect(findings.map(({ message }) => message).join("").length).toBeLessThanOrEqual(64 * 1024);
  expect(others).toEqual([expect.stringContaining("Download")]);
});
