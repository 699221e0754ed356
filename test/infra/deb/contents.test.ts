// Tests which lines the packages' rule sets find.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parseMonitor } from "../../../node-shim/sources/problems/config.ts";
import { lineMatcher } from "../../../node-shim/sources/problems/matcher.ts";
import type { Expression } from "../../../shared/go/regexp.ts";
import { RULE_SETS } from "../../../infra/deb/contents.ts";

const FOLDER = join(import.meta.dirname, "../../../infra/deb/files/problems");

function ruleSet(name: (typeof RULE_SETS)[number]) {
  const parsed = parseMonitor(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
  if (!parsed.ok || parsed.value.plugin === "custom") throw new Error(parsed.ok ? "custom" : parsed.error);
  return parsed.value;
}

/** Returns what the line is about; undefined if the expression does not match the line, or names no subject. */
function subjectIn(expression: Expression, line: string): string | undefined {
  const lineOf = (message: string) => ({ atMs: 0, message });
  const match = lineMatcher({ bufferSize: 10, expressions: [expression], lineOf, asWritten: (text) => text });
  return [...match(`${line}\n`)].flat()[0]?.subject;
}

test.each<[(typeof RULE_SETS)[number], line: string, reasons: string[]]>([
  [
    "kernel",
    "Memory cgroup out of memory: Killed process 982 (python3) total-vm:170168kB, anon-rss:32384kB, file-rss:6708kB, shmem-rss:0kB, UID:0 pgtables:128kB oom_score_adj:0",
    ["OOMKilling"],
  ],
  ["kernel", "INFO: task touch:653 blocked for more than 120 seconds.", ["TaskHung"]],
  ["kernel", "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:123]", ["SoftLockup"]],
  ["kernel", "rcu: INFO: rcu_sched self-detected stall on CPU", ["RcuStall"]],
  ["kernel", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", ["RcuStall"]],
  ["kernel", "BUG: kernel NULL pointer dereference, address: 0000000000000008", ["KernelOops"]],
  ["kernel", "{1}[Hardware Error]: event severity: fatal", ["HardwareErrorFatal"]],
  ["kernel", "usb 1-1: new high-speed USB device", []],
  [
    "filesystem",
    "EXT4-fs error (device loop0): htree_dirblock_to_tree:1051: inode #12: comm ls: Directory block failed checksum",
    ["Ext4Error"],
  ],
  ["filesystem", "EXT4-fs (loop0): Remounting filesystem read-only", ["FilesystemIsReadOnly"]],
  ["filesystem", "XFS (sda1): Filesystem has been shut down due to log error (0x2).", []],
  ["filesystem", "XFS (sda1): Metadata corruption detected. Shutting down filesystem.", ["XfsHasShutdown"]],
  ["filesystem", "BTRFS info (device sda1 state E): forced readonly", ["FilesystemIsReadOnly"]],
  ["disk", "Buffer I/O error on dev loop0, logical block 0, async page read", ["IOError"]],
  [
    "disk",
    "critical medium error, dev sda, sector 1234 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    ["MediumError"],
  ],
  ["disk", "I/O error, dev sda, sector 1234 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", ["IOError"]],
  [
    "disk",
    "nvme nvme0: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 1 timeout, aborting req_op:READ(0) size:4096",
    ["NvmeReset"],
  ],
  [
    "runtime",
    "containerd.service: Main process exited, code=killed, status=9/KILL",
    ["ContainerRuntimeExited"],
  ],
  ["runtime", "docker.service: Start request repeated too quickly.", ["RestartsTooOften"]],
  ["runtime", "nginx.service: Start request repeated too quickly.", []],
  [
    "clock",
    "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:",
    ["ClocksourceUnstable"],
  ],
])("%s.json: %s → %j", (name, line, reasons) => {
  const { rules } = ruleSet(name);
  const found = rules.filter(({ expression }) => expression.match(line) !== null);
  expect(found.map(({ reason }) => reason)).toEqual(reasons);
});

describe("a healthy pattern", () => {
  const EXT4 = "EXT4-fs (loop0): Remounting filesystem read-only";
  const BTRFS = "BTRFS info (device sda1 state E): forced readonly";
  const XFS = "XFS (dm-0): Metadata corruption detected. Shutting down filesystem.";
  const UUID = "1c3c4869-4703-4fd4-9e3e-11ed321e7760";
  it.each<[(typeof RULE_SETS)[number], problem: string, line: string, isOver: boolean]>([
    ["filesystem", EXT4, `EXT4-fs (loop0): unmounting filesystem ${UUID}.`, true],
    ["filesystem", EXT4, `EXT4-fs (loop0): mounted filesystem ${UUID} r/w with ordered data mode.`, true],
    ["filesystem", EXT4, "EXT4-fs (loop0): mounted filesystem with ordered data mode. Opts: (null)", true],
    ["filesystem", EXT4, `EXT4-fs (loop0): re-mounted ${UUID} r/w.`, true],
    // Linux 6.18 logs this about a file system that stays read-only.
    ["filesystem", EXT4, `EXT4-fs (loop0): re-mounted ${UUID}.`, false],
    ["filesystem", EXT4, `EXT4-fs (loop1): mounted filesystem ${UUID} r/w with ordered data mode.`, false],
    ["filesystem", BTRFS, `BTRFS info (device sda1 state E): last unmount of filesystem ${UUID}`, true],
    ["filesystem", BTRFS, `BTRFS info (device sda1): first mount of filesystem ${UUID}`, true],
    ["filesystem", BTRFS, `BTRFS info (device sda2): last unmount of filesystem ${UUID}`, false],
    ["filesystem", XFS, `XFS (dm-0): Unmounting Filesystem ${UUID}`, true],
    ["filesystem", XFS, `XFS (dm-0): Mounting V5 Filesystem ${UUID}`, true],
    ["filesystem", XFS, `XFS (dm-1): Unmounting Filesystem ${UUID}`, false],
    [
      "runtime",
      "docker.service: Start request repeated too quickly.",
      "Started docker.service - Docker Application Container Engine.",
      true,
    ],
    [
      "runtime",
      "docker.service: Start request repeated too quickly.",
      "Started containerd.service - containerd container runtime.",
      false,
    ],
  ])("%s.json: %s, then %s → over: %s", (name, problem, line, isOver) => {
    const { rules, conditions } = ruleSet(name);
    const { condition, expression } = rules.find((rule) => rule.condition && rule.expression.match(problem))!;
    const { healthyPattern } = conditions.find(({ healthy }) => healthy.type === condition)!;
    const subject = subjectIn(expression, problem);
    expect(subject).toBeDefined();
    expect(subjectIn(healthyPattern!, line) === subject).toBe(isOver);
  });
});

it.each(RULE_SETS)(
  "each pattern of %s.json has a required text, so that other lines cost one search",
  (name) => {
    expect(ruleSet(name).rules.filter(({ expression }) => expression.texts === null)).toEqual([]);
  },
);
