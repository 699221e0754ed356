// VitePress's own theme, with room for tables.
import DefaultTheme from "vitepress/theme";
import "./tables.css";

export default DefaultTheme;
