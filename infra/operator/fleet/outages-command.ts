// Runs rollcall outages: lists networks whose machines fell silent together.
import { type Outage, outageSchema, outagesSchema } from "../../../shared/protocol/outages.ts";
import { shown } from "../answer.ts";
import { timeOf, timeText, wholeNumber } from "../flag-values.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { answerBelowMutes } from "./notices.ts";
import { ageOf } from "../render/age.ts";
import { listOf, type Shown } from "../render/shown.ts";
import { pairs, type TableColumn } from "../render/table.ts";

const HELP = `
If machines of one network fall silent within a minute of each other, that is one outage: check the site, not each machine.
When the machines report again, WAS says whether they were down or only cut off.

Examples:
  rollcall outages
  rollcall outages 17                  its machines
  rollcall outages --since 7d`;

function columnsAt(nowMs: number): readonly TableColumn<Outage>[] {
  return [
    { head: "ID", of: ({ id }) => String(id), rank: 0 },
    { head: "NETWORK", of: ({ network }) => network, rank: 0 },
    {
      head: "SINCE",
      of: ({ startedAt }) => ageOf(startedAt, nowMs),
      raw: ({ startedAt }) => startedAt,
      rank: 1,
    },
    {
      head: "STATE",
      of: ({ endedAt }) => (endedAt === null ? "open" : `over ${ageOf(endedAt, nowMs)} ago`),
      raw: ({ endedAt }) => endedAt ?? "open",
      rank: 0,
      paint: ({ endedAt }) => (endedAt === null ? "red" : "green"),
    },
    { head: "SILENT", of: ({ silent, machines }) => `${silent}/${machines}`, rank: 0 },
    { head: "WAS", of: ({ was }) => was, rank: 2, least: 10 },
    {
      head: "MACHINES",
      of: ({ names, machines }) => names.join(",") + (machines > names.length ? ",…" : ""),
      rank: 3,
      least: 16,
    },
  ];
}

export function outageList(outages: readonly Outage[]): Shown {
  return listOf(outages, columnsAt, {
    nameOf: ({ id }) => String(id),
    ...(outages.length === 0 && { above: () => "no outages\n" }),
  });
}

export function outagesCommand(program: OperatorProgram): void {
  program
    .command("outages [id]")
    .description(
      "List outages (machines of one network that fell silent together), open outages first; or the machines of one outage.",
    )
    .option("--since <time>", "only outages that ended after this time, or have not ended: 2h, 7d", timeText)
    .option("--until <time>", "only outages that began before this time", timeText)
    .option("--limit <n>", "the number of outages to print at most", wholeNumber, 100)
    .addHelpText("after", HELP)
    .action((id: string | undefined, flags: { since?: string; until?: string; limit: number }) => {
      if (id !== undefined) return showOutage(program, id);
      const now = program.surroundings.now();
      const query = new URLSearchParams({ limit: String(flags.limit) });
      for (const name of ["since", "until"] as const)
        if (flags[name] !== undefined) query.set(name, timeOf(flags[name], now));
      const typed = { since: "--since", until: "--until", limit: "--limit" };
      return answerBelowMutes(
        program,
        { method: "GET", path: `/v1/outages?${query.toString()}`, typed },
        shown(outagesSchema, ({ outages }) => outageList(outages)),
      );
    });
}

type OutageMachine = ReturnType<typeof outageSchema.parse>["list"][number];

function showOutage(program: OperatorProgram, id: string): Promise<void> {
  const path = `/v1/outages/${encodeURIComponent(id)}?limit=1000` as const;
  return answerBelowMutes(
    program,
    { method: "GET", path, missing: `no outage ${id}` },
    shown(outageSchema, ({ list, ...outage }) =>
      listOf(list, machineColumnsAt, {
        nameOf: ({ name }) => name,
        above: ({ screen, nowMs }) =>
          `${pairs(
            [
              ["network", outage.network],
              ["since", `${outage.startedAt} (${ageOf(outage.startedAt, nowMs)} ago)`],
              [
                "state",
                outage.endedAt === null ? "open" : `over since ${outage.endedAt}`,
                outage.endedAt === null ? "red" : "green",
              ],
              ["silent", `${outage.silent} of ${outage.machines}`],
              ...(outage.was ? [["was", outage.was] as const] : []),
            ],
            screen,
          )}\n`,
      }),
    ),
  );
}

function machineColumnsAt(nowMs: number): readonly TableColumn<OutageMachine>[] {
  return [
    { head: "NAME", of: ({ name }) => name, rank: 0 },
    {
      head: "SILENT",
      of: ({ silentSince }) => ageOf(silentSince, nowMs),
      raw: ({ silentSince }) => silentSince,
      rank: 1,
    },
    { head: "BACK", of: ({ backAt }) => backAt ?? "", rank: 2 },
    { head: "WAS", of: ({ end }) => end ?? "", rank: 0 },
  ];
}
