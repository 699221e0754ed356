// What to do about a machine, with what is typed set apart.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { MachineGroup } from "./needs-list.ts";
import { TextAndCode } from "./needs-text.tsx";
import { todoOf } from "./needs-todo.ts";

export interface TodoTextProps {
  group: MachineGroup;
  machine: FeedMachine;
}

export function TodoText({ group, machine }: TodoTextProps) {
  return <TextAndCode text={todoOf(group, machine)} />;
}
