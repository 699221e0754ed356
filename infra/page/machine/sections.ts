// The sections of a machine's view, in the order in which they stand, each with the key that leads there. Pure.

export const MACHINE_SECTIONS = [
  { id: "timeline", title: "Timeline", key: "t" },
  { id: "conditions", title: "Conditions", key: "c" },
  { id: "room", title: "Room left", key: "m" },
  { id: "events", title: "Events", key: "e" },
  { id: "history", title: "History", key: "h" },
  { id: "facts", title: "Facts", key: "f" },
  { id: "hardware", title: "Hardware", key: "w" },
  { id: "labels", title: "Labels and taints", key: "l" },
  { id: "key", title: "Key and identity", key: "i" },
  { id: "deadlines", title: "Deadlines", key: "d" },
  { id: "yaml", title: "Node as YAML", key: "y" },
  { id: "raw", title: "Raw facts", key: "j" },
  { id: "actions", title: "Actions", key: "a" },
] as const;
export type SectionId = (typeof MACHINE_SECTIONS)[number]["id"];

export const sectionTitle = (id: SectionId): string =>
  MACHINE_SECTIONS.find((each) => each.id === id)?.title ?? id;
