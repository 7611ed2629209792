// The rule explorer: everything is drawn into the page by this script, from the answers of its own server.
import { render } from "preact";
import "../theme.css";
import "../components.css";
import "./explorer.css";
import { App } from "./App";

const root = document.getElementById("explorer");
if (root !== null) render(<App />, root);
