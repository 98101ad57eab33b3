#!/bin/sh
# State of a task for Snakemake's plug-in `cluster-generic`: success, failed or running.
state=$(sintonia tasks "$1" --json) || exit 1
case $state in
  *'"outcome":{"exit":0}'*) echo success ;;
  *'"state":"ended"'*) echo failed ;;
  *) echo running ;;
esac
