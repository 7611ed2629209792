"""What every room uses: files that appear whole, frames, checksums, memory, progress, settings, executors, HTML."""
