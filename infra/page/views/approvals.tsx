// Machines that wait for a name which another key has: both compared, and the decision.
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { useAnswer } from "../parts/answer.tsx";
import { ConfirmButton } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";
import { ScrollBox } from "../parts/table.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";

export function ApprovalsView() {
  const { live } = usePage();
  const pending = live.pending.value;
  return (
    <div class="stack approvals">
      <h1>Approvals</h1>
      <p class="quiet">
        A machine that asks for a name which another key has waits here. A machine can invent its IDs and
        addresses: only its key is proven.
      </p>
      {pending.length === 0 && <p class="card">{live.isKnown.value ? "No machine waits." : "Loading …"}</p>}
      {pending.map((machine) => (
        <Waiting key={`${machine.name} ${machine.thumbprint}`} machine={machine} />
      ))}
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
        <Decision machine={machine} />
      ) : (
        <p class="quiet">An operator with the role admin approves or rejects it.</p>
      )}
    </section>
  );
}

function SideBySide({ machine, assessment }: { machine: PendingMachine; assessment: PendingAssessment }) {
  const { pinned } = machine;
  return (
    <ScrollBox label="Both machines">
      <table class="side-by-side">
        <thead>
          <tr>
            <td />
            <th scope="col">The machine that asks</th>
            <th scope="col">The machine that has the name</th>
            <th scope="col">
              <span class="visually-hidden">Are they alike?</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <Compared
            what="Machine ID"
            one={machine.machineID}
            other={pinned?.machineID}
            alike={assessment.machineID}
          />
          <Compared
            what="System UUID"
            one={machine.systemUUID}
            other={pinned?.systemUUID}
            alike={assessment.systemUUID}
          />
          <Compared what="Address" one={machine.address} other={pinned?.address} alike={assessment.address} />
          <Compared what="Key" one={machine.thumbprint} other={pinned?.thumbprint} />
          <KnownOfBoth machine={machine} />
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** Compares the machine that has the name with the one that asks for it. */
function KnownOfBoth({ machine }: { machine: PendingMachine }) {
  const { name, pinned } = machine;
  const path = pinned ? machinePath(name, "/summary") : null;
  const present = useAnswer<FleetMachine>(path).value;
  return (
    <>
      <tr>
        <th scope="row">When</th>
        <td>
          asked <Time at={machine.askedAt} />
        </td>
        <td>
          {pinned ? (
            <>
              has the name since <Time at={pinned.pinnedAt} form="absolute" />
              {!pinned.hasReported && ", has never reported"}
            </>
          ) : (
            "–"
          )}
        </td>
        <td />
      </tr>
      <tr>
        <th scope="row">State</th>
        <td>waits; it has reported nothing yet</td>
        <td>{present ? <Present machine={present} /> : "–"}</td>
        <td />
      </tr>
      <tr>
        <th scope="row">Hardware</th>
        <td class="quiet">known once it reports</td>
        <td>{present ? hardwareOf(present) : "–"}</td>
        <td />
      </tr>
      <tr>
        <th scope="row">Join token</th>
        <td class="mono">{machine.token}</td>
        <td class="mono">{present?.key.token ?? "–"}</td>
        <td />
      </tr>
    </>
  );
}

interface ComparedProps {
  what: string;
  one: string;
  other: string | undefined;
  /** Absent: they always differ. */
  alike?: Likeness;
}

const ALIKE: Readonly<Record<Likeness, string>> = { equal: "= equal", different: "≠ different", unknown: "" };

function Compared({ what, one, other, alike = "unknown" }: ComparedProps) {
  return (
    <tr class={`likeness-${alike}`}>
      <th scope="row">{what}</th>
      <td class="mono wrap">{one || "–"}</td>
      <td class="mono wrap">{other || "–"}</td>
      <td class="verdict">{ALIKE[alike]}</td>
    </tr>
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
  const parts = [cpu && `${cpu} CPUs`, memory && `${memory} of memory`, versions.architecture, versions.os];
  return parts.filter(Boolean).join(", ") || "–";
}

function Decision({ machine }: { machine: PendingMachine }) {
  const { name, thumbprint, pinned } = machine;
  return (
    <div class="row">
      <ConfirmButton
        label="Approve"
        title={`Give the name ${name} to the machine that asks?`}
        request={{ method: "POST", path: machinePath(name, "/approve"), body: { thumbprint } }}
        done={`${name}: the machine that asked has the name`}
        isPrimary
      >
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

/** Whether both machines have the same ID. */
type Likeness = "equal" | "different" | "unknown";

interface PendingAssessment {
  machineID: Likeness;
  systemUUID: Likeness;
  address: Likeness;
  /** The meaning in a sentence or two. */
  sentence: string;
}

const likeness = (one: string, other: string | undefined): Likeness => {
  if (one === "" || other === undefined || other === "") return "unknown";
  return one === other ? "equal" : "different";
};

export function assess(machine: PendingMachine): PendingAssessment {
  const { pinned } = machine;
  const machineID = likeness(machine.machineID, pinned?.machineID);
  const systemUUID = likeness(machine.systemUUID, pinned?.systemUUID);
  const address = likeness(machine.address, pinned?.address);
  return { machineID, systemUUID, address, sentence: sentenceOf(machine, machineID, systemUUID) };
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
