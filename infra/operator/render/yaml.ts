// YAML, apart from the other formats: its library is loaded for whom it is for.
import { stringify } from "yaml";

export const yaml = (value: unknown) => stringify(value, { lineWidth: 0 });
