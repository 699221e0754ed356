// Draws the notifications: receivers, their waiting and failed deliveries, and mutes.
import { stateText } from "../../../shared/fleet/state.ts";
import { useState } from "preact/hooks";
import { machinesText } from "../../../shared/fleet/active-mutes.ts";
import type {
  ChangedReceiver,
  LettersAnswer,
  ListedMute,
  ListedReceiver,
  MutesAnswer,
  ReceiversAnswer,
  ReceiverTest,
} from "../../../shared/protocol/receiver-answers.ts";
import { shortDuration } from "../base/relative-time.ts";
import { sentenceOf } from "../base/words.ts";
import { usePage } from "../page.ts";
import { Answered, AnsweredSection, useAnswer } from "../parts/answer.tsx";
import { CopyButton } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ConfirmButton, DialogButton, useAct } from "../parts/form.tsx";
import { FaultNotice, Notice } from "../parts/notice.tsx";
import { MuteDialog } from "../parts/quiet.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { ReceiverDialog } from "./receiver-form.tsx";

export function NotificationsView() {
  return (
    <div class="stack">
      <h1>Notifications</h1>
      <Receivers />
      <Mutes />
    </div>
  );
}

function Receivers() {
  const { session } = usePage();
  const answer = useAnswer<ReceiversAnswer>("/v1/receivers");
  const { again } = answer;
  return (
    <AnsweredSection
      id="receivers"
      title="Receivers"
      aside={
        session.isAdmin() && (
          <DialogButton label="New receiver">
            {(close) => <EditReceiver receiver={null} onClose={close} onSaved={again} />}
          </DialogButton>
        )
      }
      answer={answer}
      what="The receivers could not be listed"
    >
      {({ receivers }) =>
        receivers.length === 0 ? (
          <p class="card">
            There is no receiver. A receiver is a webhook of a chat, an Alertmanager, or your own program.
          </p>
        ) : (
          receivers.map((receiver) => <ReceiverCard key={receiver.name} receiver={receiver} again={again} />)
        )
      }
    </AnsweredSection>
  );
}

const MUTES: readonly Column<ListedMute>[] = [
  { head: "No alerts on", class: "wrap", isRowHead: true, cell: (mute) => alertsOn(mute) },
  { head: "From", cell: ({ from }) => <Time at={from} /> },
  { head: "Until", cell: ({ until }) => <Time at={until} /> },
  { head: "Why", class: "wrap", cell: ({ comment }) => comment || "–" },
  { head: "Made by", cell: ({ who }) => who },
];

function Mutes() {
  const isAdmin = usePage().session.isAdmin();
  const answer = useAnswer<MutesAnswer>("/v1/mutes");
  const { again } = answer;
  const end = ({ id }: ListedMute) => (
    <ConfirmButton
      label="End"
      title="End this mute?"
      request={{ method: "DELETE", path: `/v1/mutes/${id}` }}
      done="The mute is over"
      onDone={again}
    >
      <p>Receivers get alerts on problems that still last.</p>
    </ConfirmButton>
  );
  return (
    <AnsweredSection
      id="mutes"
      title="Mutes"
      aside={
        isAdmin && (
          <DialogButton label="New mute">
            {(close) => <MuteDialog onClose={close} onMade={again} />}
          </DialogButton>
        )
      }
      answer={answer}
      what="The mutes could not be listed"
    >
      {({ mutes }) => (
        <CardTable
          label="Mutes"
          rows={mutes}
          columns={MUTES}
          keyOf={({ id }) => id}
          actions={isAdmin && end}
          none="Nothing is muted."
        />
      )}
    </AnsweredSection>
  );
}

function ReceiverCard({ receiver, again }: { receiver: ListedReceiver; again: () => void }) {
  const { session } = usePage();
  const { name, format, url, waiting, dead, dropped, firing } = receiver;
  const error = receiver.lastDelivery?.error || receiver.error;
  return (
    <article class="card stack" aria-label={`Receiver ${name}`}>
      <header class="row spread">
        <h3>
          {name} <span class="tag">{format}</span>
        </h3>
        <DeliverySign receiver={receiver} />
      </header>
      <Pairs
        pairs={[
          ["Address", <span class="mono">{url}</span>],
          ["Alerts on", `${receiver.outagesOnly ? "outages only: " : ""}${alertsOn(receiver)}`],
          ["When", whenText(receiver)],
          [
            "Deliveries",
            `${waiting} queued, ${dead} failed, ${dropped} dropped; ${firing} ${firing === 1 ? "alert fires" : "alerts fire"}`,
          ],
        ]}
      />
      {error !== "" && (
        <Notice kind="warning">
          The last {receiver.lastDelivery?.isTest ? "test" : "delivery"} failed: {sentenceOf(error)}
        </Notice>
      )}
      {session.isAdmin() && <ReceiverActs receiver={receiver} again={again} />}
      {waiting + dead > 0 && session.isAdmin() && <Deliveries name={name} again={again} />}
    </article>
  );
}

function DeliverySign({ receiver }: { receiver: ListedReceiver }) {
  const { look, words, at, form } = deliverySign(receiver);
  return (
    <span class={look}>
      {words} {at !== null && <Time at={at} form={form} />}
    </span>
  );
}

interface SignWords {
  look: "check-ok" | "check-failed" | "quiet";
  words: string;
  /** The time that follows the words; null for none. */
  at: string | null;
  form: "ago" | "since";
}

/** Returns the words about a receiver's last delivery or test. */
export function deliverySign({
  failingSince,
  lastDelivery,
}: Pick<ListedReceiver, "failingSince" | "lastDelivery">): SignWords {
  if (failingSince !== null)
    return { look: "check-failed", words: "✕ deliveries have failed for", at: failingSince, form: "since" };
  if (!lastDelivery) return { look: "quiet", words: "no delivery or test yet", at: null, form: "ago" };
  const { at, arrived, isTest } = lastDelivery;
  const what = isTest ? "test" : "delivery";
  return arrived
    ? { look: "check-ok", words: `✓ the last ${what} arrived`, at, form: "ago" }
    : { look: "check-failed", words: `✕ the last ${what} failed`, at, form: "ago" };
}

/** Returns the times of a receiver's messages, like `after 2m, again each 1h`. */
function whenText({ delaySeconds, repeatMinutes }: ListedReceiver): string {
  const again = repeatMinutes > 0 ? `, again each ${shortDuration(repeatMinutes * 60_000)}` : "";
  return `after ${shortDuration(delaySeconds * 1000)}${again}`;
}

function ReceiverActs({ receiver, again }: { receiver: ListedReceiver; again: () => void }) {
  const { name } = receiver;
  const path = `/v1/receivers/${encodeURIComponent(name)}` as const;
  const { run, isActing, fault } = useAct();
  const [test, setTest] = useState<ReceiverTest | null>(null);
  const sendTest = async () => {
    setTest(await run<ReceiverTest>("POST", `${path}/test`));
    again();
  };
  return (
    <>
      <div class="row">
        <button type="button" disabled={isActing} onClick={() => void sendTest()}>
          {isActing ? "Sending …" : "Send a test"}
        </button>
        <DialogButton label="Edit">
          {(close) => <EditReceiver receiver={receiver} onClose={close} onSaved={again} />}
        </DialogButton>
        <ConfirmButton
          label="Remove"
          title={`Remove the receiver ${name}?`}
          request={{ method: "DELETE", path }}
          done={`The receiver ${name} is removed`}
          onDone={again}
          isDangerous
        >
          <p>It gets no alerts any more. Its queued deliveries are lost.</p>
        </ConfirmButton>
      </div>
      {fault && <FaultNotice what="The test could not be sent" fault={fault} />}
      {test && (
        <Notice kind={test.arrived ? "quiet" : "warning"}>
          {test.arrived ? "The test arrived" : "The test did not arrive"} ({test.status ?? "no answer"},{" "}
          {test.tookMs} ms)
          {test.answer !== "" && <>: {test.answer}</>}
        </Notice>
      )}
    </>
  );
}

function Deliveries({ name, again }: { name: string; again: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Queued and failed deliveries</summary>
      {isOpen && <DeliveryList name={name} again={again} />}
    </details>
  );
}

function DeliveryList({ name, again }: { name: string; again: () => void }) {
  const path = `/v1/receivers/${encodeURIComponent(name)}/letters` as const;
  const deliveries = useAnswer<LettersAnswer>(path);
  const { run, isActing, fault } = useAct();
  const resend = async (id: number) => {
    if ((await run("POST", `${path}/${id}/resend`)) === null) return;
    deliveries.again();
    again();
  };
  return (
    <Answered answer={deliveries} what="The deliveries could not be listed">
      {(value) => (
        <ul class="stack">
          {fault && <FaultNotice what="The delivery could not be sent again" fault={fault} />}
          {value.letters.map(({ id, madeAt, state, error, body }) => (
            <li key={id}>
              {state}, made <Time at={madeAt} />
              {error !== "" && `: ${error}`}{" "}
              {state === "dead" && (
                <button type="button" disabled={isActing} onClick={() => void resend(id)}>
                  Send again
                </button>
              )}
              <details>
                <summary>Its text</summary>
                <pre class="breaks">{body}</pre>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}

/** Draws the form of a receiver, and then the signing secret that the Worker has made, once. */
function EditReceiver({ receiver, onClose, onSaved }: EditReceiverProps) {
  const [saved, setSaved] = useState<ChangedReceiver | null>(null);
  const taken = (answer: ChangedReceiver) => {
    onSaved();
    if (answer.secret === null) onClose();
    else setSaved(answer);
  };
  if (saved) return <SigningSecret receiver={saved} onClose={onClose} />;
  return <ReceiverDialog receiver={receiver} onClose={onClose} onSaved={taken} />;
}

interface EditReceiverProps {
  receiver: ListedReceiver | null;
  onClose: () => void;
  onSaved: () => void;
}

function SigningSecret({ receiver, onClose }: { receiver: ChangedReceiver; onClose: () => void }) {
  const secret = receiver.secret ?? "";
  return (
    <Dialog title="Its signing secret, shown this once" onClose={onClose}>
      <div class="stack">
        <p>
          {receiver.name} uses it to verify that a delivery is from this deployment. For another one, remove
          the receiver and create it again, or use <code>rollcall receivers</code>.
        </p>
        <pre class="breaks">{secret}</pre>
        <CopyButton text={secret} of="the signing secret" />
      </div>
    </Dialog>
  );
}

/** Describes the alerts of a receiver or a mute, like `not ready, not reporting of machines named edge-*`. */
export function alertsOn({ states, ...scope }: Pick<ListedMute, "selector" | "names" | "states">): string {
  return `${states.length === 0 ? "every state" : states.map((each) => stateText(each).toLowerCase()).join(", ")} of ${machinesText(scope)}`;
}
