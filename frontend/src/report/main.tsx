// The entry of the report: reads the data that the page holds, and draws it.
import { render } from "preact";
import "../theme.css";
import "../components.css";
import "./report.css";
import type { Report } from "../types";
import { Page } from "./Page";

const data = document.getElementById("report-data");
const root = document.getElementById("page");
if (data?.textContent && root) {
  render(<Page report={JSON.parse(data.textContent) as Report} />, root);
}
