// Answers questions about systemd's units by systemctl: never with a unit's environment, log lines or command lines.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import type { Asking, Source } from "./source.ts";
import { table } from "./table.ts";

const PLAIN = ["--no-pager", "--plain", "--no-legend", "--full"];

/** The properties of a unit in an answer. Environment= and ExecStart= are none of them. */
const PROPERTIES =
  "Id,Description,LoadState,UnitFileState,ActiveState,SubState,Result,StateChangeTimestamp,NRestarts,MainPID," +
  "ExecMainCode,ExecMainStatus,MemoryCurrent,MemoryPeak,CPUUsageNSec,TasksCurrent,NeedDaemonReload,FragmentPath,DropInPaths,TriggeredBy";

/** Yields one unit's properties, or which units have failed and which services were restarted. */
export const units: Source<ParametersOf<"units">> = async function* ({ unit }, asking) {
  const { run, signal } = asking;
  if (unit !== undefined) {
    const args = ["show", "--no-pager", `--property=${PROPERTIES}`, "--", unit];
    yield* run("systemctl", args, { signal });
    return;
  }
  yield "failed units:";
  let isAny = false;
  for await (const line of failedUnits(asking)) {
    isAny = true;
    yield `  ${line.trim()}`;
  }
  if (!isAny) yield "  none";
  yield* restartedServices(asking);
};

/** Yields systemctl's line of each failed unit, which begins with the unit's name. */
export const failedUnits = ({ run, signal }: Asking): AsyncIterable<string> =>
  run("systemctl", ["list-units", "--failed", "--all", ...PLAIN], { signal });

async function* restartedServices(asking: Asking): AsyncGenerator<string> {
  const rows: string[][] = [];
  for await (const {
    Id = "",
    NRestarts = "0",
    ActiveState = "",
    SubState = "",
    Result = "",
  } of unitProperties(["*.service"], asking))
    if (Number(NRestarts) > 0) rows.push([Id, NRestarts, ActiveState, SubState, Result]);
  yield "services that systemd restarted since their start:";
  rows.sort((a, b) => Number(b[1]) - Number(a[1]));
  if (rows.length === 0) yield "  none";
  else
    yield* table([
      ["  unit", "restarts", "active", "sub", "result"],
      ...rows.map(([id, ...of]) => [`  ${id}`, ...of]),
    ]);
}

const STATE = [
  "Id",
  "NRestarts",
  "ActiveState",
  "SubState",
  "Result",
  "ExecMainStatus",
  "UnitFileState",
] as const;

/** Yields the state of each loaded unit that matches a pattern of systemctl, and of each unit that is named. */
export async function* unitProperties(
  patterns: readonly string[],
  { run, signal }: Asking,
): AsyncGenerator<Partial<Record<(typeof STATE)[number], string>>> {
  // systemctl matches the pattern with the loaded units, and prints an empty line between two of them.
  const args = ["show", "--no-pager", `--property=${STATE.join(",")}`, ...patterns];
  let unit: Record<string, string> = {};
  for await (const line of run("systemctl", args, { signal })) {
    const at = line.indexOf("=");
    if (at >= 0) unit[line.slice(0, at)] = line.slice(at + 1);
    else {
      yield unit;
      unit = {};
    }
  }
  yield unit;
}
