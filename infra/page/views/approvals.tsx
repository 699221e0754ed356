// Draws the machines that wait for a name which another key has: a comparison of both, and buttons to decide.
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import type { PendingAnswer, PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { ComponentChildren } from "preact";
import { quantityWords } from "../base/amounts.ts";
import { machinePath } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { ConfirmButton } from "../parts/form.tsx";
import { Link, PageLinks } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";

/** Draws the feed's machines, which are the oldest ones. Further machines come from the Worker, page by page. */
export function ApprovalsView() {
  const { live, route } = usePage();
  const after = route.value.rest.get("after");
  const fed = live.pending.value;
  const isMore = after !== undefined || fed.length >= FEED_LIMITS.pending;
  const page = useAnswer<PendingAnswer>(isMore ? "/v1/pending" : null, {
    after,
    limit: String(FEED_LIMITS.pending),
  });
  useAgainOnChange(page, JSON.stringify(fed.map(({ name, thumbprint }) => [name, thumbprint])));
  const pending = after === undefined ? fed : (page.value?.pending ?? []);
  const isKnown = after === undefined ? live.isKnown.value : page.value !== null;
  return (
    <div class="stack approvals">
      <h1>Approvals</h1>
      <p class="quiet">
        A machine that asks for a name which another key has waits here. A machine can invent its IDs and
        addresses: only its key is proven.
      </p>
      {pending.length === 0 && <p class="card">{isKnown ? "No machine waits." : "Loading …"}</p>}
      {pending.map((machine) => (
        <Waiting key={`${machine.name} ${machine.thumbprint}`} machine={machine} />
      ))}
      {page.fault && (
        <FaultNotice what="The machines could not be listed" fault={page.fault} again={page.again} />
      )}
      {isMore && (
        <PageLinks
          after={after}
          next={page.value?.next}
          first="Waiting longest"
          following="Waiting less long"
        />
      )}
    </div>
  );
}

function Waiting({ machine }: { machine: PendingMachine }) {
  const { session } = usePage();
  const { name, pinned } = machine;
  const assessment = assess(machine);
  return (
    <section class="card stack waiting" aria-label={`${name} waits`}>
      <header class="row spread">
        <h2>
          <StateWord state="pending" /> {pinned ? <Link href={hrefOf({ machine: name })}>{name}</Link> : name}
        </h2>
        <span class="quiet">
          asked <Time at={machine.askedAt} />, waits until <Time at={machine.expiresAt} form="absolute" />
        </span>
      </header>
      <p>{assessment.sentence}</p>
      <SideBySide machine={machine} assessment={assessment} />
      {session.isAdmin() ? (
        <Decision machine={machine} assessment={assessment} />
      ) : (
        <p class="quiet">An operator with the role admin approves or rejects it.</p>
      )}
    </section>
  );
}

function SideBySide({ machine, assessment }: { machine: PendingMachine; assessment: PendingAssessment }) {
  const { name, pinned } = machine;
  const present = useAnswer<FleetMachine>(pinned ? machinePath(name, "/summary") : null).value;
  const ids = IDS.map(([what, field, alike]): ComparedRow => {
    const of = (text: string | undefined) => (text ? <span class="mono">{text}</span> : "–");
    return {
      what,
      asks: of(machine[field]),
      has: of(pinned?.[field]),
      likeness: alike ? assessment[alike] : "unknown",
    };
  });
  const others: readonly Omit<ComparedRow, "likeness">[] = [
    { what: "When", asks: <Asked machine={machine} />, has: pinned ? <Since pinned={pinned} /> : "–" },
    {
      what: "State",
      asks: "waits; it has reported nothing yet",
      has: present ? <Present machine={present} /> : "–",
    },
    {
      what: "Hardware",
      asks: <span class="quiet">known once it reports</span>,
      has: present ? hardwareOf(present) : "–",
    },
    {
      what: "Join token",
      asks: <span class="mono">{machine.token}</span>,
      has: present?.key.token ? <span class="mono">{present.key.token}</span> : "–",
    },
  ];
  return (
    <DataTable
      label="Both machines"
      class="side-by-side"
      rows={[...ids, ...others.map((row) => ({ ...row, likeness: "unknown" as const }))]}
      columns={COMPARED}
      keyOf={({ what }) => what}
      rowClass={({ likeness }) => `likeness-${likeness}`}
    />
  );
}

interface ComparedRow {
  what: string;
  /** The values of the machine that asks, and of the machine that has the name. */
  asks: ComponentChildren;
  has: ComponentChildren;
  likeness: Likeness;
}

/** The IDs that are compared. Keys are not among them, because they always differ. */
const IDS = [
  ["Machine ID", "machineID", "machineID"],
  ["System UUID", "systemUUID", "systemUUID"],
  ["Address", "address", "address"],
  ["Key", "thumbprint", null],
] as const;
const ALIKE: Readonly<Record<Likeness, string>> = { equal: "= equal", different: "≠ different", unknown: "" };

const COMPARED: readonly Column<ComparedRow>[] = [
  { head: "What", class: "unbroken", isRowHead: true, cell: ({ what }) => what },
  { head: "Asks", hint: "The machine that asks for the name", class: "wrap", cell: ({ asks }) => asks },
  { head: "Has the name", hint: "The machine that has the name", class: "wrap", cell: ({ has }) => has },
  { head: "Alike?", class: "verdict", cell: ({ likeness }) => ALIKE[likeness] },
];

const Asked = ({ machine }: { machine: PendingMachine }) => (
  <>
    asked <Time at={machine.askedAt} />
  </>
);

function Since({ pinned }: { pinned: NonNullable<PendingMachine["pinned"]> }) {
  return (
    <>
      has the name since <Time at={pinned.pinnedAt} form="absolute" />
      {!pinned.hasReported && ", has never reported"}
    </>
  );
}

function Present({ machine }: { machine: FleetMachine }) {
  return (
    <span class="row">
      <StateWord state={machine.state} />
      <span>
        since <Time at={machine.silentSince ?? machine.since} form="absolute" />
      </span>
    </span>
  );
}

function hardwareOf({ capacity, versions }: FleetMachine): string {
  const { cpu, memory } = capacity;
  const parts = [
    cpu && `${cpu} CPUs`,
    memory && `${quantityWords("memory", memory)} of memory`,
    versions.architecture,
    versions.os,
  ];
  return parts.filter(Boolean).join(", ") || "–";
}

function Decision({ machine, assessment }: { machine: PendingMachine; assessment: PendingAssessment }) {
  const { name, thumbprint, pinned } = machine;
  const isSame = assessment.machineID === "equal" && assessment.systemUUID === "equal";
  return (
    <div class="row">
      <ConfirmButton
        label="Approve"
        title={`Give the name ${name} to the machine that asks?`}
        request={{ method: "POST", path: machinePath(name, "/approve"), body: { thumbprint } }}
        done={`${name}: the machine that asked has the name`}
        isPrimary={isSame}
      >
        <p>
          <strong>{assessment.sentence}</strong>
        </p>
        <Pairs
          pairs={[
            ["Key that asks", <code key="asks">{thumbprint}</code>],
            ["Key with the name", pinned ? <code key="has">{pinned.thumbprint}</code> : "none"],
          ]}
        />
        <p>
          The key that asks gets the name.{" "}
          {pinned &&
            "The former key is refused permanently: its machine stops reporting within one heartbeat."}{" "}
          The Node stays, and shows the new machine with its first report.
        </p>
      </ConfirmButton>
      <ConfirmButton
        label="Reject"
        title={`Refuse the machine that asks for ${name}?`}
        request={{ method: "POST", path: machinePath(name, "/reject"), body: { thumbprint } }}
        done={`${name}: the key that asked is refused permanently`}
        isDangerous
      >
        <p>
          Its key is refused permanently; nothing changes for the machine that has the name. To try again,
          join it with a new join token.
        </p>
      </ConfirmButton>
    </div>
  );
}

type Likeness = "equal" | "different" | "unknown";

interface PendingAssessment extends Record<"machineID" | "systemUUID" | "address", Likeness> {
  sentence: string;
}

const likeness = (one: string, other: string | undefined): Likeness => {
  if (one === "" || other === undefined || other === "") return "unknown";
  return one === other ? "equal" : "different";
};

export function assess(machine: PendingMachine): PendingAssessment {
  const of = (field: "machineID" | "systemUUID" | "address") =>
    likeness(machine[field], machine.pinned?.[field]);
  const [machineID, systemUUID] = [of("machineID"), of("systemUUID")];
  const sentence = sentenceOf(machine, machineID, systemUUID);
  return { machineID, systemUUID, address: of("address"), sentence };
}

function sentenceOf({ pinned }: PendingMachine, machineID: Likeness, systemUUID: Likeness): string {
  if (!pinned) return "No machine has the name any more: approving takes it from none.";
  const unused = pinned.hasReported ? "" : " The one that has the name has never reported.";
  if (machineID === "equal" && systemUUID === "equal")
    return `Same hardware, same installation: its key was most likely lost or replaced.${unused}`;
  if (systemUUID === "equal")
    return `Same hardware, different installation: most likely it was installed again.${unused}`;
  if (machineID === "equal")
    return `Different hardware, same installation: a disk was moved or copied.${unused}`;
  if (machineID === "different" && systemUUID === "different")
    return `Different hardware: both IDs differ. Approve it only if it replaces the machine that has the name.${unused}`;
  return `The IDs do not show whether it is the same machine. Ask who set it up.${unused}`;
}
