// Draws the view of one machine: its name and state, its diagnosis, and its sections.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Answers, Asking } from "../ask/asking.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { SideNav } from "../parts/side-nav.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Moment, Time } from "../parts/time.tsx";
import { ActionsSection } from "./actions.tsx";
import { ConditionsSection } from "./conditions.tsx";
import { DiagnosisCard } from "./diagnosis-card.tsx";
import type { MachineDiagnosis } from "./diagnosis.ts";
import { EventsSection } from "./events.tsx";
import { FactsSection } from "./facts.tsx";
import { HardwareSection, RawFactsFold } from "./hardware.tsx";
import { HistorySection } from "./history.tsx";
import { Deadlines, KeySection } from "./key.tsx";
import { LabelsSection } from "./labels.tsx";
import { YamlSection } from "./node-yaml.tsx";
import { RoomSection } from "./room.tsx";
import { MACHINE_SECTIONS, Section, type SectionId } from "./section.tsx";
import { MachineTimeline } from "./timeline.tsx";
import { goToSection, useMachine, useMachineKeys, type WatchedMachine } from "./use-machine.ts";

const AskTab = lazyView(async () => (await import("../ask/ask-tab.tsx")).AskTab);

export function MachineView({ name }: { name: string }) {
  const machine = useMachine(name);
  const { rest } = usePage().route.value;
  const isAsk = rest.get("tab") === "ask";
  const answers = useAnswers();
  useMachineKeys(machine.again, isAsk);
  const { whole, live, fault } = machine;
  useOpenedSection(whole !== null && !isAsk);
  if (fault?.status === 404 && !whole && !live) return <MissingMachine name={name} />;
  return (
    <article class="machine">
      <MachineHead machine={machine} />
      <Fault machine={machine} />
      <Tabs isAsk={isAsk} />
      {isAsk ? (
        <AskTab name={name} change={machine.change} answers={answers} />
      ) : (
        <div class="machine-body">
          <SideNav title="Sections">
            <SectionLinks diagnosis={machine.diagnosis} />
          </SideNav>
          <Sections machine={machine} />
        </div>
      )}
    </article>
  );
}

/** Returns the answers of the machine, which end when the operator leaves the machine's view. */
function useAnswers(): Answers {
  const answers = useSignal<ReadonlyMap<string, Asking>>(new Map());
  useEffect(
    () => () => {
      for (const asking of answers.peek().values()) asking.stop();
    },
    [],
  );
  return answers;
}

/** Draws the tabs of the view, if the operator may use more than one. */
function Tabs({ isAsk }: { isAsk: boolean }) {
  const { session, route } = usePage();
  if (!session.mayAsk() && !isAsk) return null;
  return (
    <nav class="tabs row" aria-label="Tabs">
      <Link href={withRest(route.value, { tab: undefined })} isCurrent={!isAsk}>
        Overview
      </Link>
      <Link href={withRest(route.value, { tab: "ask" })} isCurrent={isAsk}>
        Ask
      </Link>
    </nav>
  );
}

function Fault({ machine: { name, fault, whole, again } }: { machine: WatchedMachine }) {
  if (!fault) return null;
  const isGone = fault.status === 404 && whole !== null;
  const what = isGone
    ? `${name} has been deleted; the page shows its last answer`
    : `${name} could not be read`;
  return <FaultNotice what={what} fault={fault} again={again} />;
}

function Sections({ machine }: { machine: WatchedMachine }) {
  const { name, whole, change } = machine;
  const { session } = usePage();
  return (
    <div class="machine-sections">
      <Section id="timeline">
        <MachineTimeline name={name} />
      </Section>
      {whole ? (
        <>
          <ConditionsSection machine={machine} whole={whole} />
          <RoomSection name={name} whole={whole} />
          <EventsSection whole={whole} />
          <HistorySection name={name} change={change} />
          <FactsSection whole={whole} />
          <HardwareSection whole={whole} />
          <LabelsSection whole={whole} />
          <KeySection whole={whole} change={change} />
          <YamlSection whole={whole} />
          <Section id="internals">
            <Deadlines whole={whole} answeredMs={machine.answeredMs} />
            <RawFactsFold whole={whole} />
          </Section>
          {session.isAdmin() && <ActionsSection machine={machine} whole={whole} />}
        </>
      ) : (
        <p class="quiet">{machine.fault ? "Nothing more is known of it here." : "Loading its details …"}</p>
      )}
    </div>
  );
}

/** Scrolls to the section that the URL's fragment names, once the section is drawn. */
function useOpenedSection(isThere: boolean): void {
  useEffect(() => {
    const id = location.hash.slice(1);
    if (isThere && id !== "") document.getElementById(id)?.scrollIntoView();
  }, [isThere]);
}

function MachineHead({ machine }: { machine: WatchedMachine }) {
  const { name, live, whole, diagnosis } = machine;
  const since = live?.sinceMs ?? whole?.summary?.since;
  return (
    <header class="machine-head">
      <div class="row spread">
        <div class="row machine-title">
          <h1>{name}</h1>
          {diagnosis && (
            <span class="machine-state">
              <StateWord state={diagnosis.state} />
              {since !== undefined && (
                <span class="quiet">
                  since <Moment at={since} />
                </span>
              )}
            </span>
          )}
        </div>
        <Updated machine={machine} />
      </div>
      <InShort machine={machine} />
      <DiagnosisCard machine={machine} />
    </header>
  );
}

/** Draws the time of the last answer, and a button that keeps its width while a request runs. */
function Updated({ machine: { answeredMs, isLoading, again } }: { machine: WatchedMachine }) {
  return (
    <div class="row machine-updated">
      {answeredMs > 0 && (
        <span
          class="quiet"
          title="When the machine’s object last answered; the page refreshes changes by itself"
        >
          updated <Time at={answeredMs} />
        </span>
      )}
      <button type="button" onClick={again} aria-disabled={isLoading} title="Key: r">
        Refresh
      </button>
    </div>
  );
}

function InShort({ machine: { live, whole } }: { machine: WatchedMachine }) {
  const known = live ?? whole?.summary;
  if (!known) return null;
  const { versions, address } = known;
  const parts = [versions.os, versions.kernel, versions.architecture, versions.runtime].filter(Boolean);
  const phase = live ? live.phase : whole?.phase;
  return (
    <p class="quiet machine-short">
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
      {versions.shim && <span>shim {versions.shim}</span>}
      {address && (
        <span>
          behind <Link href={hrefOf({ view: "fleet" }, { q: `address:${address}` })}>{address}</Link>
        </span>
      )}
      {phase !== "registered" && (
        <span title="The status of its Node, as the Worker answers the machine">
          {phase === null || phase === undefined ? "never reported" : `phase: ${phase}`}
        </span>
      )}
    </p>
  );
}

function SectionLinks({ diagnosis }: { diagnosis: MachineDiagnosis | null }) {
  const { session } = usePage();
  const jump = (event: MouseEvent, id: SectionId) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goToSection(id);
  };
  return (
    <ul>
      {MACHINE_SECTIONS.filter(({ id }) => id !== "actions" || session.isAdmin()).map(
        ({ id, title, key }) => (
          <li key={id}>
            <a href={`#${id}`} title={`Key: ${key}`} onClick={(event) => jump(event, id)}>
              {title}
              {id === "conditions" && diagnosis?.isConditionWrong && (
                <span class="machine-flag" title="a condition is not as it should be">
                  !
                </span>
              )}
            </a>
          </li>
        ),
      )}
    </ul>
  );
}

/** Draws the view of a name that no enrolled machine has. A pending machine may wait for the name. */
function MissingMachine({ name }: { name: string }) {
  const { live } = usePage();
  const waiting = live.pending.value.filter((each) => each.name === name);
  return (
    <article class="machine machine-missing">
      <h1>{name}</h1>
      {waiting.length > 0 ? (
        <div class="machine-diagnosis machine-diagnosis-warning">
          <p class="machine-sentence">
            <StateWord state="pending" /> Waits for an operator since{" "}
            <Time at={waiting[0]?.askedAt} form="absolute" />: another key had the name.
          </p>
          <p>
            <Link href={hrefOf({ view: "approvals" })}>Approvals</Link> shows both machines, to approve or
            reject it.
          </p>
        </div>
      ) : (
        <div class="machine-diagnosis machine-diagnosis-off">
          <p class="machine-sentence">
            No machine has this name: it never enrolled, or it has left or was forgotten.
          </p>
          <SearchFleet name={name} />
        </div>
      )}
    </article>
  );
}

function SearchFleet({ name }: { name: string }) {
  const { go } = usePage();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget as HTMLFormElement).get("q");
    if (typeof typed === "string") go(hrefOf({ view: "fleet" }, { q: typed.trim() }));
  };
  return (
    <form class="row" role="search" onSubmit={search}>
      <label for="machine-search">Search the fleet:</label>
      <input id="machine-search" name="q" type="search" defaultValue={name} />
      <button type="submit">Search</button>
    </form>
  );
}
