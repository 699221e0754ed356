// Runs the programs of a custom plugin monitor, like drop-ins: only files that no other user can change, and within
// limits. The exit code is the result: 0 no problem, 1 a problem, any other unknown.
import type { Stats } from "node:fs";
import { basename, dirname } from "node:path";
import { type FileHandle, open } from "node:fs/promises";
import { failure, type Result } from "../../../shared/result.ts";
import { codeOf } from "../../base/fault.ts";
import type { RunForCode } from "../../base/child.ts";
import { AS_IT_IS, openTrusted, ownershipFault } from "../../base/ownership.ts";
import type { PluginMonitorConfig, PluginRule } from "./config.ts";
import type { Monitor, MonitorOptions } from "./monitor.ts";
import { ProblemConditions } from "./problem-state.ts";

/** The most bytes that a program may write. */
const MAX_BYTES = 64 * 1024;

export function pluginMonitor(config: PluginMonitorConfig, options: MonitorOptions): Monitor {
  const { nowMs, pause, record } = options;
  const { byMessage } = config;
  const conditions = new ProblemConditions(config.conditions, nowMs, record);
  let isReported = config.isReportedFirst;

  return {
    async run(signal, changed) {
      while (!signal.aborted) {
        const left = config.rules.values();
        const runOn = async () => {
          for (const rule of left) {
            take(rule, await runRule(rule, options.runForCode));
            changed();
          }
        };
        await Promise.all(Array.from({ length: config.concurrency }, runOn));
        isReported = true;
        conditions.expire();
        changed();
        await pause(config.everyMs, signal);
      }
    },
    result: () => ({
      dropIn: { resources: {}, labels: {}, conditions: isReported ? conditions.list() : [], custom: {} },
      agedMs: 0,
      readMs: nowMs(),
    }),
    stored: () => ({ conditions: conditions.stored(), throughMs: 0 }),
    restore: (stored) => conditions.restore(stored.conditions),
    clear: (order) => conditions.clear(order),
  };

  function take({ condition, reason }: PluginRule, ended: Awaited<ReturnType<RunForCode>>): void {
    const { code, output } = ended.ok ? ended.value : { code: -1, output: ended.error };
    const message = firstBytes(output.trim(), config.outputLength);
    if (condition === null) {
      if (code !== 0) record({ type: "Warning", reason, message });
    } else if (code === 0) conditions.end(condition);
    else if (code === 1) conditions.set(condition, "True", reason, message, { byMessage });
    else {
      const healthy = config.conditions.find(({ healthy: { type } }) => type === condition)?.healthy;
      conditions.set(condition, "Unknown", healthy?.reason ?? reason, message);
    }
  }
}

/** Returns the characters of a text that end within `most` bytes. */
const firstBytes = (text: string, most: number) =>
  new TextDecoder().decode(Buffer.from(text).subarray(0, most), { stream: true });

/** Runs a rule's program, if no other user can have changed it. Never rejects. */
async function runRule({ path, args, timeoutMs }: PluginRule, run: RunForCode): ReturnType<RunForCode> {
  let file: FileHandle | undefined;
  let close = () => {};
  try {
    const folder = openTrusted(dirname(path), "folder");
    if (!folder.ok) return failure(`is not trusted: ${folder.error}`);
    ({ close } = folder.value);
    file = await open(folder.value.at(basename(path)), AS_IT_IS);
    const fault = programFault(await file.stat());
    if (fault !== null) return failure(`${path} ${fault}`);
    const { descriptor } = folder.value;
    const ended = await run({
      program: basename(path),
      folder: descriptor,
      args,
      deadlineMs: timeoutMs,
      maxBytes: MAX_BYTES,
    });
    return ended.ok ? ended : named(path, ended);
  } catch (error) {
    return failure(`${path} cannot be read (${codeOf(error)})`);
  } finally {
    await file?.close();
    close();
  }
}

const named = (path: string, { error }: { error: string }): Result<never> => failure(`${path} ${error}`);

function programFault(stats: Stats): string | null {
  if (!stats.isFile()) return "is not a file (links are not followed)";
  return (stats.mode & 0o111) === 0 ? "is not executable" : ownershipFault(stats);
}
