// Draws the machine's key and identity, the senders that use the key, and its deadlines.
import type { ListedSenders, WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { Answered, useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { CopyButton } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { type Pair, Pairs } from "../parts/pairs.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Moment, Time } from "../parts/time.tsx";
import { Fold, Section } from "./section.tsx";

export function KeySection({ whole, change }: { whole: WholeNode; change: string }) {
  const { name, key, machine, phase, summary } = whole;
  const isUsed = summary?.key.isUsed ?? phase !== null;
  const pairs: Pair[] = [
    ["Thumbprint", <Copied key="thumbprint" text={key.thumbprint} of="the thumbprint" />],
    ["Valid", key.isRefused ? <strong class="machine-bad">no: it is refused permanently</strong> : "yes"],
    ["Has reported", isUsed ? "yes" : "not yet"],
    ["Has the name since", <Moment key="pinned" at={key.pinnedAt} />],
    [
      "Next key",
      key.next ? (
        <Copied key="next" text={key.next} of="the next key’s thumbprint" />
      ) : (
        "none: no rotation is running"
      ),
    ],
    ["Join token", <TokenLink key="token" id={key.token} />],
    ["Machine ID", <Copied key="machine" text={machine.machineID} of="the machine ID" />],
    ["System UUID", <Copied key="system" text={machine.systemUUID} of="the system UUID" />],
  ];
  return (
    <Section
      id="key"
      aside={<Link href={hrefOf({ view: "audit" }, { target: name })}>Operators’ actions on it</Link>}
    >
      <Pairs pairs={pairs} />
      <Fold title="Senders that use its key" isOpenFirst={phase === "cloned" || phase === "two shims"}>
        <Senders name={name} change={change} />
      </Fold>
    </Section>
  );
}

const TokenLink = ({ id }: { id: string }) => (
  <Link href={hrefOf({ view: "tokens" })} class="mono" title="The token with which it enrolled">
    {id}
  </Link>
);

function Copied({ text, of }: { text: string; of: string }) {
  if (text === "") return "not known";
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={text} of={of} />
    </span>
  );
}

/** Draws the times at which the machine's object acts. They are as of its last answer, so they have no present age. */
export function Deadlines({ whole, answeredMs }: { whole: WholeNode; answeredMs: number }) {
  const { deadlines, lastReportAt, outageSince, outbox } = whole;
  const when = (at: string | null, otherwise: string) => (at ? <Moment at={at} /> : otherwise);
  const due = (at: string | null, otherwise: string) => (at ? <Time at={at} form="absolute" /> : otherwise);
  const hasExpired = deadlines.lease !== null && Date.parse(deadlines.lease) < answeredMs;
  const notKnown = "not known since the object was evicted";
  return (
    <Fold
      title={
        <>
          Deadlines{" "}
          <span class="quiet">
            as of <Time at={answeredMs} />
          </span>
        </>
      }
    >
      <Pairs
        pairs={[
          ["Last report", when(lastReportAt, notKnown)],
          [hasExpired ? "Lease expired" : "Lease lasts until", due(deadlines.lease, notKnown)],
          ["Status is due by", due(deadlines.status, "not known")],
          ["Next check", due(deadlines.alarm, "none is due")],
          ["Oldest waiting event", when(outbox.oldest, "none is waiting")],
          ["Last time without an answer", when(outageSince, "none reported")],
        ]}
      />
    </Fold>
  );
}

/** Draws the last senders that used the machine's key, and states whether they are several machines. */
export function Senders({ name, change }: { name: string; change: string }) {
  const senders = useAnswer<ListedSenders>(machinePath(name, "/clones"));
  useAgainOnChange(senders, change);
  return (
    <Answered answer={senders} what="The senders could not be read">
      {(value) => <SenderTable {...value} />}
    </Answered>
  );
}

const COLUMNS: readonly Column<ListedSenders["senders"][number]>[] = [
  { head: "Last turn", class: "unbroken", cell: ({ since }) => <Time at={since} /> },
  { head: "First turn", class: "unbroken", cell: ({ firstAt }) => <Time at={firstAt} /> },
  {
    head: "Address",
    class: "wrap",
    cell: ({ address }) =>
      address ? <Link href={hrefOf({ view: "fleet" }, { q: `address:${address}` })}>{address}</Link> : "–",
  },
  { head: "Machine ID", class: "mono wrap", cell: ({ machineID }) => machineID },
  { head: "Boot ID", class: "mono wrap", cell: ({ bootID }) => bootID },
  { head: "Process", class: "mono", cell: ({ process }) => process },
  { head: "Trusted", cell: ({ isBelieved }) => (isBelieved ? "yes" : "no") },
];

function SenderTable({ double, senders }: ListedSenders) {
  return (
    <>
      <p>
        {double ? (
          <>
            <strong>Several senders use this key</strong> ({double.phase}) since{" "}
            <Time at={double.since} form="absolute" />: they took turns {double.turns} times, the last time{" "}
            <Time at={double.lastTurn} />.
          </>
        ) : (
          "As far as is known, only one sender uses this key."
        )}
      </p>
      {senders.length > 0 && (
        <DataTable
          label="Senders"
          rows={senders}
          columns={COLUMNS}
          keyOf={({ machineID, bootID, process, since }) => `${machineID} ${bootID} ${process} ${since}`}
        />
      )}
    </>
  );
}
