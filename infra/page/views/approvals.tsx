// Draws the machines that wait for a name which another key has: a comparison of both, and buttons to decide.
import type { FleetMachine } from "../../../shared/protocol/fleet-answers.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import type { PendingAnswer, PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { ComponentChildren } from "preact";
import { machinePath } from "../base/api.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { ConfirmButton } from "../parts/form.tsx";
import { Link, PageLinks } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { ScrollBox } from "../parts/table.tsx";
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
        <Decision machine={machine} />
      ) : (
        <p class="quiet">An operator with the role admin approves or rejects it.</p>
      )}
    </section>
  );
}

function SideBySide({ machine, assessment }: { machine: PendingMachine; assessment: PendingAssessment }) {
  const { name, pinned } = machine;
  const present = useAnswer<FleetMachine>(pinned ? machinePath(name, "/summary") : null).value;
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
          {IDS.map(([what, field, alike]) => (
            <tr key={what} class={`likeness-${alike ? assessment[alike] : "unknown"}`}>
              <th scope="row">{what}</th>
              <td class="mono wrap">{machine[field] || "–"}</td>
              <td class="mono wrap">{pinned?.[field] || "–"}</td>
              <td class="verdict">{alike && ALIKE[assessment[alike]]}</td>
            </tr>
          ))}
          <Known what="When" other={pinned && <Since pinned={pinned} />}>
            asked <Time at={machine.askedAt} />
          </Known>
          <Known what="State" other={present && <Present machine={present} />}>
            waits; it has reported nothing yet
          </Known>
          <Known what="Hardware" other={present && hardwareOf(present)}>
            <span class="quiet">known once it reports</span>
          </Known>
          <Known what="Join token" other={present?.key.token} class="mono">
            {machine.token}
          </Known>
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** The IDs that are compared. Keys are not among them, because they always differ. */
const IDS = [
  ["Machine ID", "machineID", "machineID"],
  ["System UUID", "systemUUID", "systemUUID"],
  ["Address", "address", "address"],
  ["Key", "thumbprint", null],
] as const;
const ALIKE: Readonly<Record<Likeness, string>> = { equal: "= equal", different: "≠ different", unknown: "" };

interface KnownProps {
  what: string;
  other: ComponentChildren;
  class?: string;
  /** The content about the machine that asks for the name. */
  children: ComponentChildren;
}

function Known({ what, other, class: className, children }: KnownProps) {
  return (
    <tr>
      <th scope="row">{what}</th>
      <td class={className}>{children}</td>
      <td class={className}>{other ?? "–"}</td>
      <td />
    </tr>
  );
}

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
