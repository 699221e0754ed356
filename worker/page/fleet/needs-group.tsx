// One group of what needs somebody: its heading with a count, and its lines. Decides nothing.
import type { ComponentChildren } from "preact";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import { hrefOf } from "../base/route.ts";
import { Link } from "../parts/link.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import {
  keyOf,
  type MachineGroup,
  type NeedsGroup,
  type NeedsKind,
  sinceOf,
  type Unwritten,
} from "./needs-list.ts";
import { OutageEntry } from "./needs-outage.tsx";
import { TableLink, TextAndCode, TodoFold } from "./needs-text.tsx";
import {
  counted,
  NEEDS_HEADINGS,
  NEEDS_MEANINGS,
  pendingText,
  todoOf,
  unwrittenText,
  whyOf,
} from "./needs-words.ts";

interface GroupSectionProps {
  group: NeedsGroup;
  isOpen: boolean;
  onFold: (isOpen: boolean) => void;
}

const SIGNS: Readonly<Record<NeedsKind, string>> = {
  outage: "silent",
  "cluster-unreachable": "cluster-unreachable",
  blocked: "blocked",
  "not-ready": "not-ready",
  silent: "silent",
  pending: "pending",
  skewed: "ready",
};

export function GroupSection({ group, isOpen, onFold }: GroupSectionProps) {
  const { kind, count } = group;
  return (
    <details
      class={`needs-group needs-group-${kind}`}
      open={isOpen}
      onToggle={({ currentTarget }) => onFold(currentTarget.open)}
    >
      <summary title={NEEDS_MEANINGS[kind]}>
        <h3>
          {kind === "skewed" ? (
            <span class="needs-clock" aria-hidden="true" />
          ) : (
            <StateSign state={SIGNS[kind]} />
          )}
          {NEEDS_HEADINGS[kind]} <span class="needs-count">{count.toLocaleString("en")}</span>
        </h3>
      </summary>
      <Entries group={group} />
    </details>
  );
}

function Entries({ group }: { group: NeedsGroup }) {
  if (group.kind === "cluster-unreachable") return <UnwrittenLine unwritten={group} />;
  const more = group.count - group.entries.length;
  return (
    <ul class="needs-lines">
      {linesOf(group)}
      {more > 0 && (
        <li class="needs-more">
          <More kind={group.kind}>and {more.toLocaleString("en")} more</More>
        </li>
      )}
    </ul>
  );
}

function linesOf(group: Exclude<NeedsGroup, { kind: "cluster-unreachable" }>): ComponentChildren {
  const { kind } = group;
  if (kind === "outage")
    return group.entries.map((entry) => <OutageEntry key={keyOf(kind, entry)} entry={entry} />);
  if (kind === "pending")
    return group.entries.map((entry) => <PendingLine key={keyOf(kind, entry)} pending={entry} />);
  return group.entries.map((entry) => <MachineLine key={keyOf(kind, entry)} group={kind} machine={entry} />);
}

function More({ kind, children }: { kind: NeedsKind; children: ComponentChildren }) {
  if (kind === "pending") return <Link href={hrefOf({ view: "approvals" })}>{children}</Link>;
  const shows = kind === "skewed" ? { sort: "-skew" } : { state: SIGNS[kind] };
  return <TableLink shows={shows}>{children}</TableLink>;
}

function MachineLine({ group, machine }: { group: MachineGroup; machine: FeedMachine }) {
  const { name, state, phase } = machine;
  return (
    <li class="needs-line">
      <span class="needs-name">
        <StateSign state={state} />
        <Link href={hrefOf({ machine: name })}>{name}</Link>
      </span>
      <span class="needs-since quiet">
        <Time at={sinceOf(machine)} form="since" />
      </span>
      <TodoFold of={name} todo={todoOf(group, machine)}>
        <span class="needs-why">
          {group === "blocked" && phase !== null && <strong>{phase}: </strong>}
          <TextAndCode text={whyOf(group, machine)} />
        </span>
      </TodoFold>
    </li>
  );
}

function PendingLine({ pending }: { pending: PendingMachine }) {
  return (
    <li class="needs-line">
      <span class="needs-name">
        <StateSign state="pending" />
        <Link href={hrefOf({ view: "approvals" })}>{pending.name}</Link>
      </span>
      <span class="needs-since quiet">
        <Time at={pending.askedAt} form="since" />
      </span>
      <span class="needs-why">{pendingText(pending)}</span>
    </li>
  );
}

/** One for all: nothing is wrong with the machines. */
function UnwrittenLine({ unwritten: { count, sinceMs, phases } }: { unwritten: Unwritten }) {
  return (
    <div class="needs-lines needs-whole">
      <p>
        The Worker cannot write {counted(count, "machine’s Node", "machines’ Nodes")} to the cluster, as far
        as is known since <Time at={sinceMs} form="since" />. Nothing is wrong with the machines.{" "}
        <TableLink shows={{ state: "cluster-unreachable" }}>Show them</TableLink>
      </p>
      {phases.map((each) => (
        <p key={each.phase} class="quiet">
          {each.phase !== "" && <strong>{each.phase}</strong>} ({each.count.toLocaleString("en")}):{" "}
          {unwrittenText(each.phase)}
        </p>
      ))}
      <p>
        What to do: <Link href={hrefOf({ view: "deployment" })}>the deployment’s checks</Link> say what is
        wrong with the apiserver, or with the Worker’s token for it.
      </p>
    </div>
  );
}
