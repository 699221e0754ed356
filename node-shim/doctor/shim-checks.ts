// Checks what this machine's shim does, by the status that it leaves: whether it runs, and what the cluster says. Asks
// nobody.
import type { Kind } from "../status/diagnoses.ts";
import { statusOf } from "../status/status.ts";
import type { StatusFile } from "../status/status-file.ts";
import { type Finding, ok, warn } from "./finding.ts";
import { transportFindings } from "./socket-checks.ts";

/** The Worker takes nothing from this machine any more, or its Node is gone; all else may end without anybody's doing. */
const NEEDS_SOMEBODY: ReadonlySet<Kind> = new Set(["refused", "wrong origin", "node deleted"]);

/** No finding where the machine is not enrolled, or its state folder cannot be read: other checks say that. */
export function checkShim(state: string, nowMs: number): Finding[] {
  let found: ReturnType<typeof statusOf>;
  try {
    found = statusOf(state, nowMs);
  } catch {
    return [];
  }
  const { kind, text, cure } = found.diagnosis;
  if (kind === "not enrolled") return [];
  const pid = found.seen?.file.process.split(" ")[0];
  const message = found.seen?.isRunning ? `process ${pid}: ${text}` : text;
  const isShown = found.seen?.isRunning === true && kind !== "no socket";
  const transport = isShown && found.seen ? transportFindings(found.seen.file) : [];
  const others = [...transport, ...(found.seen?.isRunning ? versionFindings(found.seen.file) : [])];
  if (cure === undefined) return [ok("shim", message), ...others];
  const level = NEEDS_SOMEBODY.has(kind) ? "fail" : "warn";
  return [{ check: "shim", level, message, todo: cure }, ...others];
}

const UPGRADE =
  "upgrade it as it was installed: from an apt repository by `node-shim upgrade`, once a rollout gives it the version, or by " +
  "apt-get install --only-upgrade rollcall-node-shim; else by install.sh again";

/** Nothing where the shim is as new as the Worker, or newer. */
function versionFindings({ shim, answer }: StatusFile): Finding[] {
  const { workerVersion } = answer ?? {};
  if (workerVersion === undefined) return [];
  return [warn("version", `this shim is ${shim}, and the Worker ${workerVersion}`, UPGRADE)];
}
