// The rule explorer: everything is drawn into the page by this script, from the answers of its own server.
import { render } from "preact";
import "../theme.css";
import "../components.css";
import "./explorer.css";
import { App } from "./App";

// The token of the address is a cookie by now; it need not stay in the history.
if (window.location.search !== "") window.history.replaceState(null, "", window.location.pathname + window.location.hash);

const root = document.getElementById("explorer");
if (root !== null) render(<App />, root);
