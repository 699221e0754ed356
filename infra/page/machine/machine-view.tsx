// One machine: what is wrong with it and what to do, then all that is known of it. Whoever opens it needs no second page.
import { useEffect } from "preact/hooks";
import { usePage } from "../page.ts";
import { FaultNotice } from "../parts/notice.tsx";
import { ActionsSection } from "./actions-section.tsx";
import { ConditionsSection } from "./conditions-section.tsx";
import { EventsSection } from "./events-section.tsx";
import { FactsSection } from "./facts-section.tsx";
import { HardwareSection, RawFactsSection } from "./hardware-section.tsx";
import { HistorySection } from "./history-section.tsx";
import { DeadlinesSection, KeySection } from "./key-section.tsx";
import { LabelsSection } from "./labels-section.tsx";
import { MachineHead } from "./machine-head.tsx";
import { MissingMachine } from "./missing-machine.tsx";
import { RoomSection } from "./room-section.tsx";
import { SectionNav } from "./section-nav.tsx";
import { Section } from "./section.tsx";
import { MachineTimeline } from "./timeline.tsx";
import { useMachine, type WatchedMachine } from "./use-machine.ts";
import { useMachineKeys } from "./use-machine-keys.ts";
import { YamlSection } from "./yaml-section.tsx";

export function MachineView({ name }: { name: string }) {
  const machine = useMachine(name);
  useMachineKeys(machine.again);
  const { whole, live, fault } = machine;
  useOpenedSection(whole !== null);
  if (fault?.status === 404 && !whole && !live) return <MissingMachine name={name} />;
  return (
    <article class="machine">
      <MachineHead machine={machine} />
      <Fault machine={machine} />
      <div class="machine-body">
        <SectionNav diagnosis={machine.diagnosis} />
        <Sections machine={machine} />
      </div>
    </article>
  );
}

function Fault({ machine: { name, fault, whole, again } }: { machine: WatchedMachine }) {
  if (!fault) return null;
  const isGone = fault.status === 404 && whole !== null;
  const what = isGone
    ? `${name} is not there any more; what is shown was so before`
    : `${name} could not be asked`;
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
          <RoomSection whole={whole} />
          <EventsSection whole={whole} />
          <HistorySection name={name} change={change} />
          <FactsSection whole={whole} />
          <HardwareSection whole={whole} />
          <LabelsSection whole={whole} />
          <KeySection whole={whole} change={change} />
          <DeadlinesSection whole={whole} />
          <YamlSection whole={whole} />
          <RawFactsSection whole={whole} />
          {session.isAdmin() && <ActionsSection machine={machine} whole={whole} />}
        </>
      ) : (
        <p class="quiet">
          {machine.fault ? "Nothing more is known of it here." : "Asking what its object knows …"}
        </p>
      )}
    </div>
  );
}

/** A link to a section leads there once it is there. */
function useOpenedSection(isThere: boolean): void {
  useEffect(() => {
    const id = location.hash.slice(1);
    if (isThere && id !== "") document.getElementById(id)?.scrollIntoView();
  }, [isThere]);
}
