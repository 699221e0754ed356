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
  for await (const line of run("systemctl", ["list-units", "--failed", "--all", ...PLAIN], { signal })) {
    isAny = true;
    yield `  ${line.trim()}`;
  }
  if (!isAny) yield "  none";
  yield* restartedServices(asking);
};

async function* restartedServices({ run, signal }: Asking): AsyncGenerator<string> {
  const shown = ["Id", "NRestarts", "ActiveState", "SubState", "Result"];
  // systemctl matches the pattern with the loaded units, and prints an empty line between two of them.
  const args = ["show", "--no-pager", `--property=${shown.join(",")}`, "*.service"];
  const rows: string[][] = [];
  let unit: Record<string, string> = {};
  const end = () => {
    if (Number(unit["NRestarts"]) > 0) rows.push(shown.map((name) => unit[name] ?? ""));
    unit = {};
  };
  for await (const line of run("systemctl", args, { signal })) {
    const at = line.indexOf("=");
    if (at < 0) end();
    else unit[line.slice(0, at)] = line.slice(at + 1);
  }
  end();
  yield "services that systemd restarted since their start:";
  rows.sort((a, b) => Number(b[1]) - Number(a[1]));
  if (rows.length === 0) yield "  none";
  else
    yield* table([
      ["  unit", "restarts", "active", "sub", "result"],
      ...rows.map(([id, ...of]) => [`  ${id}`, ...of]),
    ]);
}
