// Draws the groups of the matching machines with their sums, and the choices of groupings. Loaded on demand.
import { useMemo } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { bytesText, digits } from "../base/amounts.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import {
  type FleetGroup,
  type GroupBy,
  groupByOf,
  groupChoices,
  groupsOf,
  groupTerm,
  groupTitle,
  sumOf,
} from "./fleet-groups.ts";

/** Draws the choices of groupings as links. `always`: the grouping without a choice, if machines are always grouped. */
export function GroupChoices({ always }: { always?: GroupBy | undefined }) {
  const { live, route } = usePage();
  const chosen = groupByOf(route.value.rest.get("group")) ?? always;
  const choices = useMemo(() => groupChoices(live.machines().values()), [live.revision.value]);
  return (
    <ul class="fleet-choices">
      {choices.map((by) => (
        <li key={by}>
          <Link href={withRest(route.value, { group: by })} isCurrent={by === chosen}>
            {groupTitle(by)}
          </Link>
        </li>
      ))}
      {chosen && !always && (
        <li>
          <Link href={withRest(route.value, { group: undefined })}>No groups</Link>
        </li>
      )}
    </ul>
  );
}

export interface GroupTableProps {
  machines: readonly FeedMachine[];
}

/** Draws the groups that the URL names, or nothing. */
export function GroupTable({ machines }: GroupTableProps) {
  const by = groupByOf(usePage().route.value.rest.get("group"));
  return by && <Groups by={by} machines={machines} />;
}

/** The number of groups that are drawn. The largest and the worst come first. */
const MOST_GROUPS = 200;
const ALL = "All";

function Groups({ by, machines }: GroupTableProps & { by: GroupBy }) {
  const { route } = usePage();
  const groups = useMemo(() => groupsOf(machines, by), [machines, by]);
  const rows = useMemo(() => [...groups.slice(0, MOST_GROUPS), sumOf(ALL, machines)], [groups]);
  const title = groupTitle(by);
  const text = route.value.rest.get("q") ?? "";
  const columns: Column<FleetGroup>[] = [
    {
      head: title,
      isRowHead: true,
      cell: (group) => {
        const term = group === rows.at(-1) ? null : groupTerm(by, group.value);
        const words = group.value || "without";
        if (term === null) return words;
        return <Link href={withRest(route.value, { q: `${text} ${term}`.trim() })}>{words}</Link>;
      },
    },
    ...SUMS,
  ];
  return (
    <section class="fleet-groups" aria-label={`Machines by ${title}`}>
      <CardTable
        label={`Machines by ${title}`}
        rows={rows}
        columns={columns}
        keyOf={(group) => rows.indexOf(group)}
      />
      <p>
        <Link href={hrefOf({ view: "day" }, { q: text || undefined, group: by })}>
          The last day by {title}
        </Link>
      </p>
      {groups.length > MOST_GROUPS && (
        <p class="quiet">
          {groups.length.toLocaleString("en")} groups: here are the first {MOST_GROUPS}.
        </p>
      )}
    </section>
  );
}

const SHOWN = 3;
function most(values: FleetGroup["versions"]): string {
  const texts = values.slice(0, SHOWN).map(([value, count]) => `${value} (${count.toLocaleString("en")})`);
  return [...texts, ...(values.length > SHOWN ? [`${values.length - SHOWN} more`] : [])].join(", ");
}

const amount = (value: number) => (value === 0 ? "–" : digits(value));

const SUMS: readonly Column<FleetGroup>[] = [
  { head: "Machines", class: "number", cell: ({ machines }) => machines.toLocaleString("en") },
  {
    head: "Not ready",
    class: "number",
    hint: "Of any state but ready",
    cell: ({ notReady }) =>
      notReady === 0 ? "–" : <strong class="machine-bad">{notReady.toLocaleString("en")}</strong>,
  },
  { head: "CPUs", class: "number", hint: "Capacity", cell: ({ cpus }) => amount(cpus) },
  {
    head: "Memory",
    class: "number",
    hint: "Capacity",
    cell: ({ memoryBytes }) => (memoryBytes === 0 ? "–" : bytesText(memoryBytes)),
  },
  { head: "GPUs", class: "number", hint: "Capacity", cell: ({ gpus }) => amount(gpus) },
  { head: "Versions", hint: "Of the shim", cell: ({ versions }) => most(versions) },
  { head: "Kernels", cell: ({ kernels }) => most(kernels) },
];
