import "../theme.css";
