"""Where readings come from: files, MQTT, PostgreSQL. A source yields deliveries; it counts and decides nothing."""
