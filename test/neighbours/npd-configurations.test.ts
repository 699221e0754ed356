// Tests which of node-problem-detector's own configuration files the shim accepts, and what it says about the others.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { parseMonitor } from "../../node-shim/sources/problems/config.ts";
import { sourcesOf } from "./programs.ts";

const FOLDER = join(sourcesOf("node-problem-detector"), "config");

const NO_MONITOR =
  "/plugin: is missing: name files of system-log-monitor and custom-plugin-monitor; --send-usage replaces system-stats-monitor";
const RELATIVE = "/rules/0/path: must be an absolute path";

const VERDICTS: Record<string, string> = {
  "abrt-adaptor.json": "journald",
  "custom-plugin-monitor.json": RELATIVE,
  // node-problem-detector refuses this file too: it has a comma after the last condition.
  "disk-log-message-filelog.json": "is not JSON: Unexpected token ']'",
  "docker-monitor-counter.json": "custom",
  "docker-monitor-filelog.json": "filelog",
  "docker-monitor.json": "journald",
  "exporter/stackdriver-exporter.json": NO_MONITOR,
  "guestosconfig/known-modules.json": "must be a JSON object",
  "health-checker-containerd.json": "custom",
  "health-checker-docker.json": "custom",
  "health-checker-kubelet.json": "custom",
  "iptables-mode-monitor.json": RELATIVE,
  "kernel-monitor-counter.json": "custom",
  "kernel-monitor-filelog.json": "filelog",
  "kernel-monitor.json": "kmsg",
  "net-cgroup-system-stats-monitor.json": NO_MONITOR,
  "network-problem-monitor.json": RELATIVE,
  "readonly-monitor.json": "kmsg",
  "system-stats-monitor.json": NO_MONITOR,
  "systemd-monitor-counter.json": "custom",
  "systemd-monitor.json": "journald",
  "windows-containerd-monitor-filelog.json": "filelog",
  "windows-defender-monitor.json": RELATIVE,
  "windows-health-checker-containerd.json": RELATIVE,
  "windows-health-checker-docker.json": RELATIVE,
  "windows-health-checker-kubelet.json": RELATIVE,
  "windows-health-checker-kubeproxy.json": RELATIVE,
  "windows-system-stats-monitor.json": NO_MONITOR,
};

it("node-problem-detector has these files", () => {
  expect(globSync("**/*.json", { cwd: FOLDER }).sort()).toEqual(Object.keys(VERDICTS).sort());
});

test.each(Object.entries(VERDICTS))("%s → %s", (name, verdict) => {
  const parsed = parseMonitor(readFileSync(join(FOLDER, name), "utf8"));
  expect(parsed.ok ? parsed.value.plugin : parsed.error.slice(0, verdict.length)).toBe(verdict);
});
