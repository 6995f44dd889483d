"""The paper's experiments: each runs into a folder, and reports and draws from that folder."""
