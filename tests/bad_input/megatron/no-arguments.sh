#!/bin/bash
echo "nothing here"
