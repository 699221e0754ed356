// What to do about a machine, with what is typed set apart.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { MarkedText } from "../parts/marked-text.tsx";
import type { MachineGroup } from "./needs-list.ts";
import { todoOf } from "./needs-todo.ts";

export interface TodoTextProps {
  group: MachineGroup;
  machine: FeedMachine;
}

export function TodoText({ group, machine }: TodoTextProps) {
  return <MarkedText text={todoOf(group, machine)} />;
}
